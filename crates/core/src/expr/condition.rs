//! `if:`: when a step runs, seen from its needs, and for which values.

use std::slice;

use super::error::{ExprError, code};
use super::expression::Expression;
use super::node::{ExprNode, ExprNodeKind};
use super::parse::parse;
use crate::plan;

/// An `if:`. At most one status function, alone or joined with the rest by `and`: the engine decides by the status when
/// the needs have ended, and asks for the values only then. A form that mixes the two in any other way (`failure() or
/// x`) could not be shown as a plan, and is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IfCondition {
    /// When, seen from the needs; [`Success`](plan::IfCondition::Success) if nothing is said.
    pub status: plan::StatusCondition,
    /// For which values; always, if there is none.
    pub value: Option<Expression>,
}

impl IfCondition {
    /// Reads an `if:`.
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
            let what = format!("`{value}` is neither true nor false");
            return Err(ExprError::new(code::NOT_A_BOOLEAN, value.range(), what)
                .help("compare it, as in params.channel == \"stable\""));
        }
        Ok(Self { status, value: Some(value) })
    }
}

/// The text with blanks instead of one operand of its `and` and of the `and` beside it, so that ranges stay true.
fn blank_operand(text: &str, operands: &[ExprNode], index: usize) -> String {
    let gone = match operands.get(index + 1) {
        Some(next) => operands[index].range.start..next.range.start,
        None => operands[index - 1].range.end..operands[index].range.end,
    };
    [&text[..gone.start], &" ".repeat(gone.len()), &text[gone.end..]].concat()
}

/// `!failure()`: `not failure()` would be refused next.
fn bang_help(text: &str, error: ExprError) -> ExprError {
    match text.trim().strip_prefix('!').map(str::trim) {
        Some("failure()") => error.help("write success(), or no `if:` at all"),
        Some("success()") => error.help("write failure()"),
        _ => error,
    }
}

/// Status functions elsewhere than in the one place for them.
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
        Some(Success) => ("there is a name for this".to_owned(), "failure()"),
        Some(Failure) => ("there is a name for this".to_owned(), "success(), or no `if:` at all"),
        Some(Always) => ("a step that never runs is no step".to_owned(), "false to switch it off"),
        None if any && has(Success) && has(Failure) => {
            ("there is a name for this".to_owned(), "always()")
        }
        None if statuses.len() > 1 => ("there can be one status only".to_owned(), IF_FORM_HELP),
        None => {
            (format!("`{call}` can stand alone or be joined by `and`, nowhere else"), IF_FORM_HELP)
        }
    };
    ExprError::new(code::EXPRESSION, last.range.clone(), what).help(format!("write {write}"))
}

/// The status of `not failure()`, if it is all.
fn negated(node: &ExprNode) -> Option<plan::StatusCondition> {
    if let ExprNodeKind::Not(inner) = &node.kind
        && let ExprNodeKind::Status(status) = inner.kind
    {
        return Some(status);
    }
    None
}

const IF_FORM_HELP: &str = "it as: failure() and params.channel == \"stable\"";
