//! What the operators do with values; the page of [`expr`](super) is its specification.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::token::{ComparisonOperator, decimal, spelling};

/// Letters of a text that cost as much as one step.
const CHARS_PER_STEP: usize = 64;
/// Letters of a text that are shown in a message.
const SHOWN_CHARS_MAX: usize = 40;

/// The result of a comparison; `None` if these values cannot be compared so, or the fuel is used up.
pub(super) fn compare(
    fuel: &mut EvaluationFuel,
    left: &Value,
    how: ComparisonOperator,
    right: &Value,
) -> Option<bool> {
    let order = || {
        let (left, right) = (number(left)?, number(right)?);
        Some(order(&left, &right))
    };
    match how {
        ComparisonOperator::Equal => Some(fuel.equal(left, right)),
        ComparisonOperator::Unequal => Some(!fuel.equal(left, right)),
        ComparisonOperator::Less => order().map(Ordering::is_lt),
        ComparisonOperator::AtMost => order().map(Ordering::is_le),
        ComparisonOperator::Greater => order().map(Ordering::is_gt),
        ComparisonOperator::AtLeast => order().map(Ordering::is_ge),
        ComparisonOperator::In => fuel.contains(right, left),
        ComparisonOperator::NotIn => fuel.contains(right, left).map(|found| !found),
    }
}

/// The work that may still be done.
#[derive(Debug)]
pub(super) struct EvaluationFuel {
    left: u64,
    empty: bool,
}

impl EvaluationFuel {
    pub(super) fn new(left: u64) -> Self {
        Self { left, empty: false }
    }

    /// Whether there was enough for this and for all before.
    pub(super) fn spend(&mut self, steps: u64) -> bool {
        self.empty |= steps > self.left;
        self.left = self.left.saturating_sub(steps);
        !self.empty
    }

    /// Whether two values are equal; any answer if the fuel is used up.
    fn equal(&mut self, left: &Value, right: &Value) -> bool {
        if !self.spend(1) {
            return false;
        }
        match (left, right) {
            (Value::String(a), Value::String(b)) => a.len() == b.len() && self.same_text(a, b),
            (Value::Number(a), Value::Number(b)) => order(a, b).is_eq(),
            (Value::String(text), Value::Number(number))
            | (Value::Number(number), Value::String(text)) => *text == spelling(number),
            (Value::String(text), Value::Bool(flag)) | (Value::Bool(flag), Value::String(text)) => {
                text == if *flag { "true" } else { "false" }
            }
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                let same = |(key, a)| b.get(key).is_some_and(|b| self.equal(a, b));
                a.len() == b.len() && a.iter().all(same)
            }
            (a, b) => a == b,
        }
    }

    fn same_text(&mut self, a: &str, b: &str) -> bool {
        self.spend(steps_of(a)) && a == b
    }

    /// Whether `whole` has `part` in it; `None` if it is neither list nor text, or the part of a text is none.
    fn contains(&mut self, whole: &Value, part: &Value) -> Option<bool> {
        match (whole, part) {
            (Value::Array(list), _) => Some(list.iter().any(|item| self.equal(item, part))),
            (Value::String(whole), Value::String(part)) => {
                Some(self.spend(steps_of(whole)) && whole.contains(&**part))
            }
            _ => None,
        }
    }
}

fn steps_of(text: &str) -> u64 {
    (text.len() / CHARS_PER_STEP) as u64 + 1
}

/// The steps that it takes to copy a value.
pub(super) fn copy_cost(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => steps_of(text),
        Value::Array(list) => list.iter().map(copy_cost).sum(),
        Value::Object(map) => map.values().map(copy_cost).sum(),
    }
}

/// The number that a value is, be it as text.
pub(super) fn number(value: &Value) -> Option<Cow<'_, Number>> {
    match value {
        Value::Number(number) => Some(Cow::Borrowed(number)),
        Value::String(text) => decimal(text).map(Cow::Owned),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn order(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// A value as it stands in a string; `None` for null.
pub(super) fn to_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(spelling(number))),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Some(Cow::Owned(value.to_string())),
    }
}

/// What a value is, for a message: `the text "yes"`.
pub(super) fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {}", spelling(number)),
        Value::String(text) if text.chars().count() > SHOWN_CHARS_MAX => {
            let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
            format!("the text {shown:?}…")
        }
        Value::String(text) => format!("the text {text:?}"),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
