//! Whether one text is what its key takes.

use super::durations::bad_duration;
use crate::problem::{Code, Fix, Problem, Source};
use crate::requirement::Requirement;
use crate::shown::{NAME_MAX, is_plain, quoted};
use crate::spec::keys::{NO_KEYS, Shape};
use crate::spec::names::{is_name, name_like, nearest};
use crate::spec::read::{retry_on, wait};
use crate::spec::tree::{Node, Scalar};
use crate::spec::units::{duration, limit};

/// What is wrong with a scalar, if it is not what `shape` takes. Templates pass: they are looked at when rendered.
pub(super) fn scalar_problem(
    source: &Source,
    node: &Node<'_>,
    scalar: &Scalar<'_>,
    shape: Shape,
    key: &str,
) -> Option<Problem> {
    let text = &*scalar.text;
    if text.contains("${{") && !matches!(shape, Shape::Name | Shape::Flag | Shape::Word(_)) {
        return None;
    }
    let wrong = |code: Code| {
        let title = format!("`{key}` takes {}, and this is `{}`", expected(shape), short(text));
        Problem::new(code, node.span.clone(), title)
    };
    match shape {
        Shape::Script | Shape::Condition => text.trim().is_empty().then(|| empty(node, key)),
        Shape::Name => (!is_name(text)).then(|| no_name(source, node, text)),
        Shape::Flag => {
            scalar.as_flag().is_none().then(|| flag(source, node, text, wrong(Code::WrongType)))
        }
        Shape::Number(..) => {
            scalar_number::<i64>(text, shape).is_none().then(|| wrong(Code::BadNumber))
        }
        Shape::Duration => duration(text).err().map(|e| bad_duration(source, node, key, text, e)),
        Shape::Limit => limit(text).err().map(|e| bad_duration(source, node, key, text, e)),
        Shape::Wait => wait(text).err().map(|e| bad_duration(source, node, key, text, e)),
        Shape::RetryOn => retry_on(text).is_none().then(|| wrong(Code::UnknownWord)),
        Shape::OnceKey => no_key(node, text, || wrong(Code::WrongType)),
        Shape::Requirement => requirement(source, node, text),
        Shape::Word(words) => (!words.contains(&text)).then(|| {
            let near = nearest(text, words.iter().copied());
            let near = synonym(text).filter(|word| words.contains(word)).or(near);
            let fix = near.and_then(|word| Fix::replace(source, &node.span, word));
            let problem = wrong(Code::UnknownWord).fix(fix);
            let listed = key == "type" && matches!(text, "choice" | "enum" | "select");
            if listed { problem.help("leave it out: `choose: [a, b]` says it") } else { problem }
        }),
        Shape::Text
        | Shape::List(_)
        | Shape::Many(_)
        | Shape::Map(_)
        | Shape::Object(_)
        | Shape::Grows(..)
        | Shape::Anything => None,
    }
}

fn empty(node: &Node<'_>, key: &str) -> Problem {
    Problem::new(Code::Empty, node.span.clone(), format!("`{key}` is empty"))
}

/// What other tools call a type.
fn synonym(word: &str) -> Option<&'static str> {
    match word.to_lowercase().as_str() {
        "int" | "integer" | "float" | "double" => Some("number"),
        "bool" | "flag" => Some("boolean"),
        "str" | "text" => Some("string"),
        _ => None,
    }
}

fn no_name(source: &Source, node: &Node<'_>, text: &str) -> Problem {
    let like = name_like(text);
    let fix = is_name(&like).then(|| Fix::replace(source, &node.span, &like)).flatten();
    Problem::new(Code::BadName, node.span.clone(), format!("`{}` is no name", short(text)))
        .help("names are made of letters, digits, `_` and `-`, and begin with a letter or `_`")
        .fix(fix)
}

/// What a shape takes, in words for a sentence.
pub(crate) fn expected(shape: Shape) -> String {
    let plural = |shape: &Shape| {
        let one = expected(*shape);
        one.trim_start_matches("a ").trim_start_matches("an ").to_owned() + "s"
    };
    match shape {
        Shape::Text => "a text".to_owned(),
        Shape::Script => "a command".to_owned(),
        Shape::Condition => "an expression".to_owned(),
        Shape::Name => "a name".to_owned(),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Number(min, max) => format!("a whole number from {min} to {max}"),
        Shape::Duration => "a duration such as `90s` or `15m`".to_owned(),
        Shape::Limit => "a duration above zero such as `90s` or `15m`".to_owned(),
        Shape::Wait => "a duration such as `5s`, or two as `5s..1m`".to_owned(),
        Shape::RetryOn => "`failed`, `timed_out` or `exit-N`".to_owned(),
        Shape::OnceKey => "a key such as `deploy-${{ params.version }}`".to_owned(),
        Shape::Requirement => "a requirement".to_owned(),
        Shape::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(" or ")
        }
        Shape::List(item) => format!("a list of {}", plural(item)),
        Shape::Many(item) => format!("{} or a list of them", expected(*item)),
        Shape::Map(_) => "a map".to_owned(),
        Shape::Object(_) => "a map of keys".to_owned(),
        Shape::Grows(short, _) => format!("{} or a map of keys", expected(*short)),
        Shape::Anything => "anything".to_owned(),
    }
}

/// What is no key for something that is done once.
fn no_key(node: &Node<'_>, text: &str, wrong: impl FnOnce() -> Problem) -> Option<Problem> {
    if NO_KEYS.contains(&text) {
        return Some(wrong().help("a success is kept under the key, and found by it in every run"));
    }
    let unfit = text.trim_start_matches("./").is_empty() || !is_plain(text);
    unfit.then(|| {
        Problem::new(Code::BadName, node.span.clone(), format!("{} is no key", quoted(text)))
            .help(format!("it has 1 to {NAME_MAX} bytes, and no line breaks or control characters"))
    })
}

fn flag(source: &Source, node: &Node<'_>, text: &str, problem: Problem) -> Problem {
    let meant = match text.to_lowercase().as_str() {
        "yes" | "on" | "y" | "1" | "true" => "true",
        "no" | "off" | "n" | "0" | "false" => "false",
        _ => return problem,
    };
    problem.fix(Fix::replace(source, &node.span, meant))
}

/// The whole number that a text is, within the bounds of its shape.
pub(crate) fn scalar_number<T: TryFrom<i64>>(text: &str, shape: Shape) -> Option<T> {
    let Shape::Number(min, max) = shape else { return None };
    let number = text.parse::<i64>().ok().filter(|number| (min..=max).contains(number))?;
    T::try_from(number).ok()
}

fn requirement(source: &Source, node: &Node<'_>, text: &str) -> Option<Problem> {
    let error = Requirement::parse(text).err()?;
    let span = node.locate(source.text(), &error.range);
    let problem = Problem::new(Code::BadRequirement, span, error.message);
    Some(match error.help {
        Some(help) => problem.help(help),
        None => problem,
    })
}

/// Enough of a text to recognise it.
pub(super) fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    let cut: String = line.chars().take(40).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
