//! The value of a tree. Values are borrowed from the scope as long as possible; each step of work costs fuel.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::error::{ExprError, code};
use super::node::{ExprComparison, ExprNode, ExprNodeKind};
use super::operators::{EvaluationFuel, compare, copy_cost, describe_value, number};
use super::scope::ExprScope;
use super::token::ComparisonOperator;

/// The value of `node`, which was read from `text`.
pub(super) fn evaluate<'a>(
    node: &'a ExprNode,
    text: &'a str,
    scope: &'a ExprScope,
) -> Result<Cow<'a, Value>, ExprError> {
    ExprEvaluator { text, scope, fuel: EvaluationFuel::new(scope.evaluation_fuel()) }.value(node)
}

struct ExprEvaluator<'a> {
    text: &'a str,
    scope: &'a ExprScope,
    fuel: EvaluationFuel,
}

impl<'a> ExprEvaluator<'a> {
    fn value(&mut self, node: &'a ExprNode) -> Result<Cow<'a, Value>, ExprError> {
        self.spend(1)?;
        match &node.kind {
            ExprNodeKind::Literal(value) => Ok(Cow::Borrowed(value)),
            ExprNodeKind::Path(path) => Ok(Cow::Borrowed(self.scope.get(path))),
            ExprNodeKind::List(nodes) => self.list(nodes),
            ExprNodeKind::All(nodes) => self.short_circuit(false, nodes),
            ExprNodeKind::Any(nodes) => self.short_circuit(true, nodes),
            ExprNodeKind::Not(inner) => Ok(Cow::Owned((!self.boolean(inner)?).into())),
            ExprNodeKind::Compare(both) => self.compare(both, &node.range),
            ExprNodeKind::Default(nodes) => match self.value(&nodes[0])? {
                value if value.is_null() => self.value(&nodes[1]),
                value => Ok(value),
            },
            ExprNodeKind::Status(_) => unreachable!("an expression with a status is not built"),
        }
    }

    fn list(&mut self, nodes: &'a [ExprNode]) -> Result<Cow<'a, Value>, ExprError> {
        let mut list = Vec::with_capacity(nodes.len());
        for node in nodes {
            let value = self.value(node)?;
            // It is copied: a list of a hundred times the same long list must not pass for a hundred steps.
            self.spend(copy_cost(&value))?;
            list.push(value.into_owned());
        }
        Ok(Cow::Owned(Value::Array(list)))
    }

    /// Whether one of the operands is `wanted`, or else the opposite.
    fn short_circuit(
        &mut self,
        wanted: bool,
        nodes: &'a [ExprNode],
    ) -> Result<Cow<'a, Value>, ExprError> {
        for node in nodes {
            if self.boolean(node)? == wanted {
                return Ok(Cow::Owned(wanted.into()));
            }
        }
        Ok(Cow::Owned((!wanted).into()))
    }

    fn boolean(&mut self, node: &'a ExprNode) -> Result<bool, ExprError> {
        let value = self.value(node)?;
        let text = &self.text[node.range.clone()];
        value.as_bool().ok_or_else(|| not_a_boolean(text, node.range.clone(), &value))
    }

    fn compare(
        &mut self,
        both: &'a ExprComparison,
        range: &Range<usize>,
    ) -> Result<Cow<'a, Value>, ExprError> {
        let (left, right) = (self.value(&both.left)?, self.value(&both.right)?);
        let result = compare(&mut self.fuel, &left, both.operator, &right);
        self.spend(0)?;
        let Some(result) = result else {
            return Err(self.incomparable(both, [&left, &right], range));
        };
        Ok(Cow::Owned(result.into()))
    }

    fn spend(&mut self, steps: u64) -> Result<(), ExprError> {
        if self.fuel.spend(steps) {
            return Ok(());
        }
        let what = "the expression has too much to compare";
        Err(ExprError::new(code::VALUE, 0..self.text.len(), what)
            .help("decide it in a step and read its output"))
    }

    /// Names the operand that the comparison can do nothing with, and what to do.
    fn incomparable(
        &self,
        both: &ExprComparison,
        values: [&Value; 2],
        range: &Range<usize>,
    ) -> ExprError {
        let searches = matches!(both.operator, ComparisonOperator::In | ComparisonOperator::NotIn);
        let left_is_wrong =
            if searches { values[1].is_string() } else { number(values[0]).is_none() };
        let (node, value) =
            if left_is_wrong { (&both.left, values[0]) } else { (&both.right, values[1]) };
        let text = &self.text[node.range.clone()];
        let sign = both.operator.sign();
        let what = format!("`{sign}` cannot be used here: `{text}` is {}", describe_value(value));
        let help = match (searches, left_is_wrong) {
            _ if value.is_null() => format!("where it may be missing write default({text}, …)"),
            (true, true) => "only a text can be in a text".to_owned(),
            (true, false) => format!("`{sign}` looks into a list or a text"),
            (false, _) => format!("`{sign}` compares numbers"),
        };
        ExprError::new(code::VALUE, range.clone(), what).help(help)
    }
}

/// The expression of this text should be true or false, and is neither.
pub(super) fn not_a_boolean(text: &str, range: Range<usize>, value: &Value) -> ExprError {
    let what = format!("`{text}` is {}, not true or false", describe_value(value));
    let error = ExprError::new(code::NOT_A_BOOLEAN, range, what);
    if value.is_null() {
        return error.help(format!("where it may be missing write default({text}, false)"));
    }
    let example = if value.is_number() { "1" } else { "\"true\"" };
    error.help(format!("compare it, as in {text} == {example}"))
}
