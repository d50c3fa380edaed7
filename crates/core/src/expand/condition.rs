//! `if:`: settled now if it reads only what is known, else rewritten so that it reads nothing but other steps.

use std::ops::Range;

use serde_json::Value;

use super::render::Known;
use super::settings::unfit;
use crate::expr::Expression;
use crate::plan::{Condition, Once, When};
use crate::problem::{Code, Problem};
use crate::shown::is_plain;
use crate::spec::{Asked, Text};

/// When the step runs by its needs, and by values.
pub(super) fn condition(known: &mut Known<'_>, asked: Option<&Asked>) -> (Condition, When) {
    let Some(asked) = asked else { return (Condition::Success, When::Holds) };
    let status = asked.condition.status;
    let Some(expression) = &asked.condition.value else { return (status, When::Holds) };
    // Read anew, so that the ranges of its paths count from its own text.
    let Ok(expression) = Expression::parse(expression.text()) else { return (status, When::Holds) };
    let asks = asked.reads.iter().any(|read| read.path[0] == "steps");
    let when = if asks { later(known, asked, &expression) } else { now(known, asked, &expression) };
    (status, when.unwrap_or_default())
}

fn now(known: &mut Known<'_>, asked: &Asked, expression: &Expression) -> Option<When> {
    let holds = expression.holds(&known.scope);
    if known.told(holds, &asked.span, &asked.reads)? {
        return Some(When::Holds);
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
    Some(When::Fails(format!("{}  ({})", expression.text(), values.join(", ")).into()))
}

/// The expression with what is known written into it: whoever evaluates it knows nothing but `steps`.
fn later(known: &mut Known<'_>, asked: &Asked, expression: &Expression) -> Option<When> {
    let rewritten = expression.partially(&known.scope, &["params", "matrix"]);
    let left = rewritten.paths().into_iter().find(|read| read.path[0] != "steps");
    let Some(left) = left else { return Some(When::Asks(rewritten.text().into())) };
    let problem = two_quotes(&left.path.join("."), "a condition", &asked.span);
    known.problems.push(problem.help("give it to the step as a variable and test it there"));
    None
}

/// What a key makes of a condition: it is decided with it, unless the step is skipped anyway. What is known is written
/// into the key as well.
pub(super) fn once(known: &mut Known<'_>, key: Option<&Text>, when: When) -> When {
    let asks = match (&when, key) {
        (When::Fails(_), _) | (_, None) => return when,
        (When::Holds | When::Asks(_) | When::Once(_), Some(_)) => when.asked().map(Into::into),
    };
    let Some(text) = key else { return when };
    let folded = text.template.partially(&known.scope, &["params", "matrix"]);
    let Some(template) = known.told(folded, &text.span, &text.reads) else { return when };
    if let Some(written) = template.is_literal().filter(|key| !is_plain(key)) {
        known.problems.push(unfit("key", written, &text.span));
        return when;
    }
    let left = template.paths().into_iter().find(|read| read.path[0] != "steps");
    if let Some(left) = left {
        known.problems.push(two_quotes(&left.path.join("."), "a key", &text.span));
        return when;
    }
    When::Once(Once { key: template.to_string().into(), asks, again: false })
}

/// A value that cannot be written into an expression.
fn two_quotes(path: &str, into: &str, span: &Range<usize>) -> Problem {
    let title =
        format!("the value of `{path}` cannot be written into {into}: it has both kinds of quotes");
    Problem::new(Code::BadValue, span.clone(), title)
}

fn value(known: &Known<'_>, path: &str) -> Option<Value> {
    Expression::parse(path).ok()?.evaluate(&known.scope).ok()
}
