//! `if:`: evaluated now if all its values are known, otherwise rewritten to read only other steps.

use std::ops::Range;

use serde_json::Value;

use super::plan_time_renderer::PlanTimeRenderer;
use super::settings::bad_rendered_name;
use crate::display_text::is_displayable;
use crate::expr::Expression;
use crate::plan::{IdempotencySpec, StatusCondition, ValueCondition};
use crate::problem::{Problem, ProblemCode};
use crate::spec::{SpannedCondition, SpannedTemplate};

/// Returns the conditions on needs and on values.
pub(super) fn condition(
    known: &mut PlanTimeRenderer<'_>,
    condition: Option<&SpannedCondition>,
) -> (StatusCondition, ValueCondition) {
    let Some(condition) = condition else {
        return (StatusCondition::Success, ValueCondition::Holds);
    };
    let status = condition.condition.status;
    let Some(expression) = &condition.condition.value else {
        return (status, ValueCondition::Holds);
    };
    // Parsed again, so that the ranges of its paths refer to its own text.
    let Ok(expression) = Expression::parse(expression.text()) else {
        return (status, ValueCondition::Holds);
    };
    let asks = condition.reads.iter().any(|read| read.path[0] == "steps");
    let when = if asks {
        condition_later(known, condition, &expression)
    } else {
        condition_now(known, condition, &expression)
    };
    (status, when.unwrap_or_default())
}

fn condition_now(
    known: &mut PlanTimeRenderer<'_>,
    condition: &SpannedCondition,
    expression: &Expression,
) -> Option<ValueCondition> {
    let holds = expression.evaluate_bool(&known.scope);
    if known.value_or_report(holds, &condition.span, &condition.reads)? {
        return Some(ValueCondition::Holds);
    }
    let mut values: Vec<String> = Vec::new();
    for read in expression.paths() {
        let path = read.path.join(".");
        let value = value(known, &path).unwrap_or_default();
        let text = format!("{path} = {value}");
        if !values.contains(&text) {
            values.push(text);
        }
    }
    Some(ValueCondition::Fails(format!("{}  ({})", expression.text(), values.join(", ")).into()))
}

/// Inserts the known values into the expression: at run time only `steps` is known.
fn condition_later(
    known: &mut PlanTimeRenderer<'_>,
    when: &SpannedCondition,
    expression: &Expression,
) -> Option<ValueCondition> {
    let rewritten = expression.substitute_known(&known.scope, &["params", "matrix"]);
    let left = rewritten.paths().into_iter().find(|read| read.path[0] != "steps");
    let Some(left) = left else { return Some(ValueCondition::Asks(rewritten.text().into())) };
    let problem = unquotable_value_problem(&left.path.join("."), "a condition", &when.span);
    known
        .problems
        .push(problem.help("pass it to the step as a variable and test it in the script"));
    None
}

/// Returns the idempotency settings, with known values inserted into the key; `None` if the step has no key or is skipped
/// anyway.
pub(super) fn idempotency(
    known: &mut PlanTimeRenderer<'_>,
    key: Option<&SpannedTemplate>,
    when: &ValueCondition,
) -> Option<IdempotencySpec> {
    let text = key.filter(|_| !matches!(when, ValueCondition::Fails(_)))?;
    let folded = text.template.substitute_known(&known.scope, &["params", "matrix"]);
    let template = known.value_or_report(folded, &text.span, &text.reads)?;
    if let Some(written) = template.is_literal().filter(|key| !is_displayable(key)) {
        known.problems.push(bad_rendered_name("key", written, &text.span));
        return None;
    }
    let left = template.paths().into_iter().find(|read| read.path[0] != "steps");
    if let Some(left) = left {
        known.problems.push(unquotable_value_problem(&left.path.join("."), "a key", &text.span));
        return None;
    }
    Some(IdempotencySpec::with_key(&template.to_string()))
}

/// Reports a value that cannot be a literal in an expression.
fn unquotable_value_problem(path: &str, into: &str, span: &Range<usize>) -> Problem {
    let title = format!(
        "the value of `{path}` cannot be inserted into {into}: it contains both kinds of quotes"
    );
    Problem::new(ProblemCode::BadValue, span.clone(), title)
}

fn value(known: &PlanTimeRenderer<'_>, path: &str) -> Option<Value> {
    Expression::parse(path).ok()?.evaluate(&known.scope).ok()
}
