//! Evaluates a tree. Values are borrowed from the scope where possible; each operation costs fuel.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::error::{ExprError, code};
use super::node::{ExprComparison, ExprNode, ExprNodeKind};
use super::operators::{EvaluationFuel, compare, copy_cost, describe_value, number};
use super::scope::ExprScope;
use super::token::ComparisonOperator;

/// Evaluates `node`, which was parsed from `text`.
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
            // Copies cost fuel: a list of a hundred copies of one long list must not cost only a hundred steps.
            self.spend(copy_cost(&value))?;
            list.push(value.into_owned());
        }
        Ok(Cow::Owned(Value::Array(list)))
    }

    /// Evaluates operands until one is `wanted`; otherwise returns the opposite.
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
        let what = "the expression needs too many comparisons";
        Err(ExprError::new(code::VALUE, 0..self.text.len(), what)
            .help("compute the result in a step and read its output"))
    }

    /// Reports the operand that the comparison does not accept.
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
            _ if value.is_null() => {
                format!("if the value can be missing, write default({text}, …)")
            }
            (true, true) => "only a string can be in a string".to_owned(),
            (true, false) => format!("`{sign}` searches a list or a string"),
            (false, _) => format!("`{sign}` compares numbers"),
        };
        ExprError::new(code::VALUE, range.clone(), what).help(help)
    }
}

/// Reports a value that should be a boolean.
pub(super) fn not_a_boolean(text: &str, range: Range<usize>, value: &Value) -> ExprError {
    let what = format!("`{text}` is {}, not a boolean", describe_value(value));
    let error = ExprError::new(code::NOT_A_BOOLEAN, range, what);
    if value.is_null() {
        return error.help(format!("if the value can be missing, write default({text}, false)"));
    }
    let example = if value.is_number() { "1" } else { "\"true\"" };
    error.help(format!("compare it, as in {text} == {example}"))
}
