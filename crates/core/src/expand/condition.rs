//! `if:`: settled now if it reads only what is known, else rewritten so that it reads nothing but other steps.

use serde_json::Value;

use super::render::Known;
use crate::expr::Expression;
use crate::plan::{Condition, When};
use crate::problem::{Code, Problem};
use crate::spec::Asked;

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
    let title = format!(
        "the value of `{}` cannot be written into a condition: it has both kinds of quotes",
        left.path.join(".")
    );
    let problem = Problem::new(Code::BadValue, asked.span.clone(), title);
    known.problems.push(problem.help("give it to the step as a variable and test it there"));
    None
}

fn value(known: &Known<'_>, path: &str) -> Option<Value> {
    Expression::parse(path).ok()?.evaluate(&known.scope).ok()
}
