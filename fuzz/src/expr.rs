//! The properties of expressions, conditions, templates and requirements.

use serde_json::{Value, json};
use windlass_core::expr::{ExprError, ExprPath, ExprScope, Expression, IfCondition, Template};
use windlass_core::requirement::Requirement;
use windlass_core::spec::parse_duration;

use crate::check::{FuzzFinding, FuzzOutcome, promise};

/// Checks a text as an expression, a condition, a template and a requirement.
pub(crate) fn check(text: &str) -> FuzzOutcome {
    let scope = scope();
    let shapes = [
        expression(text, &scope)?,
        condition(text, &scope)?,
        template(text, &scope)?,
        told("requirement", text, Requirement::parse(text).map(|_| Ok(String::new())))?,
    ];
    let length = parse_duration(text).is_ok();
    Ok(format!("{} / {length}", shapes.join(" / ")))
}

fn scope() -> ExprScope {
    let steps =
        json!({"a-b": {"outputs": {"c": "1.5", "list": [1, "b", null]}, "status": "failed"}});
    ExprScope::default()
        .with("params", json!({"x": "1", "n": 3, "b": true, "long": "é".repeat(40)}))
        .with("matrix", json!({"os": "linux"}))
        .with("steps", steps)
        .with("run", json!({"id": "r"}))
}

fn expression(text: &str, scope: &ExprScope) -> FuzzOutcome {
    told("expression", text, Expression::parse(text).map(|read| reread(text, &read, scope)))
}

/// An expression prints as a text that parses to the same expression.
fn reread(text: &str, read: &Expression, scope: &ExprScope) -> FuzzOutcome {
    let again = Expression::parse(read.text()).map_err(|error| FuzzFinding {
        key: "an expression whose text is none".to_owned(),
        detail: format!("{error:?}"),
    })?;
    let names = |uses: Vec<ExprPath>| uses.into_iter().map(|read| read.path).collect::<Vec<_>>();
    let paths = read.paths();
    for path in &paths {
        path_sound(text, path)?;
    }
    let same = again.text() == read.text() && names(again.paths()) == names(paths);
    promise(same, "an expression that its text changes", || format!("{read:?} {again:?}"))?;
    let (value, other) = (read.evaluate(scope), again.evaluate(scope));
    let equal = match (&value, &other) {
        (Ok(value), Ok(other)) => value == other,
        (Err(error), Err(other)) => error.message == other.message,
        _ => false,
    };
    promise(equal, "a value that its text changes", || format!("{value:?} {other:?}"))?;
    told("render", text, read.render(scope).map(|_| Ok(String::new())))?;
    told("value", text, value.map(|value| Ok(format!("{} {}", kind(&value), kinds(text)))))
}

fn path_sound(text: &str, read: &ExprPath) -> Result<(), FuzzFinding> {
    let there = text.get(read.range.clone());
    let squeezed: Option<String> =
        there.map(|there| there.chars().filter(|c| !c.is_whitespace()).collect());
    promise(squeezed.as_deref() == Some(&read.path.join(".")), "a path that is not there", || {
        format!("{read:?} in {text:?}")
    })
}

fn condition(text: &str, scope: &ExprScope) -> FuzzOutcome {
    let read = IfCondition::parse(text).map(|condition| {
        let Some(value) = condition.value else { return Ok(format!("{:?}", condition.status)) };
        for path in value.paths() {
            path_sound(text, &path)?;
        }
        let again = IfCondition::parse(value.text()).map(|again| again.value);
        let stable = again.as_ref().is_ok_and(|again| again.as_ref() == Some(&value));
        promise(stable, "a condition whose value is none", || format!("{value:?} {again:?}"))?;
        let holds =
            value.evaluate_bool(scope).map(|holds| Ok(format!("{:?} {holds}", condition.status)));
        told("holds", text, holds)
    });
    told("condition", text, read)
}

fn template(text: &str, scope: &ExprScope) -> FuzzOutcome {
    let read = Template::parse(text).map(|template| {
        for path in template.paths() {
            path_sound(text, &path)?;
        }
        let written = template.to_string();
        let again = Template::parse(&written);
        let stable = again.as_ref() == Ok(&template);
        promise(stable, "a template that its text changes", || format!("{written:?} {again:?}"))?;
        let rendered = template.render(scope);
        let partly = template.substitute_known(scope, &["params", "matrix", "steps", "run"]);
        if let (Ok(rendered), Ok(partly)) = (&rendered, &partly)
            && template.paths().iter().all(|path| ROOTS.contains(&&*path.path[0]))
        {
            let same = partly.is_literal() == Some(rendered);
            promise(same, "a template that is not the same at once and in parts", || {
                format!("{rendered:?} {partly:?}")
            })?;
        }
        let pieces = template.0.len();
        told("rendered", text, rendered.map(|_| Ok(pieces.min(6).to_string())))
    });
    told("template", text, read)
}

const ROOTS: [&str; 4] = ["params", "matrix", "steps", "run"];

/// A result; an error is a result as well.
fn told(what: &str, text: &str, result: Result<FuzzOutcome, ExprError>) -> FuzzOutcome {
    match result {
        Ok(inner) => inner.map(|shape| format!("{what} ok {shape}")),
        Err(error) => {
            error_sound(text, &error)?;
            Ok(error_shape(what, &error))
        }
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// An error has a position in the text and a message.
pub(crate) fn error_sound(text: &str, error: &ExprError) -> Result<(), FuzzFinding> {
    let key = format!("an error outside of the text: {}", words_only(&error.message));
    promise(text.get(error.range.clone()).is_some(), key, || format!("{error:?}"))?;
    promise(!error.message.is_empty(), "an error without a word", || format!("{error:?}"))
}

/// An error without quoted text.
pub(crate) fn error_shape(what: &str, error: &ExprError) -> String {
    format!("{what} {} {}", error.code, words_only(&error.message))
}

/// A message without quoted text and numbers.
pub(crate) fn words_only(message: &str) -> String {
    let before = message.split('`').next().unwrap_or_default();
    let after = message.rsplit_once('`').map_or("", |(_, after)| after);
    let letters =
        before.chars().chain(after.chars()).filter(|c| c.is_ascii_alphabetic() || *c == ' ');
    letters.take(60).collect()
}

/// The constructs of the language in a text.
fn kinds(text: &str) -> String {
    const KINDS: &[&str] = &[
        "and", "or", "not", "in", "(", "[", "==", "<", "\"", "'", "default(", "steps", "null", ".",
    ];
    KINDS.iter().map(|kind| if text.contains(kind) { '1' } else { '0' }).collect()
}
