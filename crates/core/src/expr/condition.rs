//! `if:`: the condition under which a step runs, by the status of its needs and by values.

use std::slice;

use super::error::{ExprError, code};
use super::expression::Expression;
use super::node::{ExprNode, ExprNodeKind};
use super::parse::parse;
use crate::plan;

/// An `if:` with at most one status function, alone or joined with the rest by `and`. When the needs have ended, the
/// engine decides by the status first and reads the values only then. Other combinations (`failure() or x`) could not be
/// shown in a plan and are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IfCondition {
    /// The required status of the needs (default: [`Success`](plan::StatusCondition::Success)).
    pub status: plan::StatusCondition,
    /// The condition on values, if any.
    pub value: Option<Expression>,
}

impl IfCondition {
    /// Parses an `if:`.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let node = parse(text).map_err(|error| bang_help(text, error))?;
        let operands =
            if let ExprNodeKind::All(nodes) = &node.kind { nodes } else { slice::from_ref(&node) };
        let direct = |operand: &ExprNode| matches!(operand.kind, ExprNodeKind::Status(_));
        match (node.statuses().as_slice(), operands.iter().position(direct)) {
            ([], _) => Self::with_status(plan::StatusCondition::Success, text),
            ([(_, status)], Some(_)) if operands.len() == 1 => {
                Ok(Self { status: *status, value: None })
            }
            ([(_, status)], Some(index)) => {
                Self::with_status(*status, &blank_operand(text, operands, index))
            }
            (statuses, _) => Err(wrong_form(text, &node, statuses)),
        }
    }

    fn with_status(status: plan::StatusCondition, text: &str) -> Result<Self, ExprError> {
        let value = Expression::parse(text)?;
        if value.never_boolean() {
            let what = format!("`{value}` is not a boolean");
            return Err(ExprError::new(code::NOT_A_BOOLEAN, value.range(), what)
                .help("compare it, as in params.channel == \"stable\""));
        }
        Ok(Self { status, value: Some(value) })
    }
}

/// Replaces one operand and its `and` with spaces, so that ranges stay correct.
fn blank_operand(text: &str, operands: &[ExprNode], index: usize) -> String {
    let gone = match operands.get(index + 1) {
        Some(next) => operands[index].range.start..next.range.start,
        None => operands[index - 1].range.end..operands[index].range.end,
    };
    [&text[..gone.start], &" ".repeat(gone.len()), &text[gone.end..]].concat()
}

/// Help for `!failure()`; `not failure()` would be refused too.
fn bang_help(text: &str, error: ExprError) -> ExprError {
    match text.trim().strip_prefix('!').map(str::trim) {
        Some("failure()") => error.help("write success(), or no `if:` at all"),
        Some("success()") => error.help("write failure()"),
        _ => error,
    }
}

/// Reports status functions at an invalid position.
fn wrong_form(
    text: &str,
    node: &ExprNode,
    statuses: &[(&ExprNode, plan::StatusCondition)],
) -> ExprError {
    use plan::StatusCondition::{Always, Failure, Success};
    let (last, _) = statuses[statuses.len() - 1];
    let call = &text[last.range.clone()];
    let has = |wanted| statuses.iter().any(|(_, status)| *status == wanted);
    let any = matches!(node.kind, ExprNodeKind::Any(_));
    let (what, write) = match negated(node) {
        Some(Success) => ("`not` cannot be applied to a status function".to_owned(), "failure()"),
        Some(Failure) => (
            "`not` cannot be applied to a status function".to_owned(),
            "success(), or no `if:` at all",
        ),
        Some(Always) => ("this condition is never true".to_owned(), "false to switch it off"),
        None if any && has(Success) && has(Failure) => {
            ("both statuses together are always()".to_owned(), "always()")
        }
        None if statuses.len() > 1 => {
            ("a condition can have only one status function".to_owned(), IF_FORM_HELP)
        }
        None => (format!("`{call}` must stand alone or be joined by `and`"), IF_FORM_HELP),
    };
    ExprError::new(code::EXPRESSION, last.range.clone(), what).help(format!("write {write}"))
}

/// Returns the status if the whole condition is a negated status function.
fn negated(node: &ExprNode) -> Option<plan::StatusCondition> {
    if let ExprNodeKind::Not(inner) = &node.kind
        && let ExprNodeKind::Status(status) = inner.kind
    {
        return Some(status);
    }
    None
}

const IF_FORM_HELP: &str = "it as: failure() and params.channel == \"stable\"";
