//! Checks a scalar against the type of its key.

use super::durations::bad_duration;
use crate::display_text::{NAME_MAX, is_displayable, quoted};
use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::requirement::Requirement;
use crate::spec::duration::{parse_duration, parse_positive_duration};
use crate::spec::keys::{BOOLEAN_WORDS, ValueShape};
use crate::spec::names::{is_name, name_like, nearest_name};
use crate::spec::read::{duration_range, retry_on};
use crate::spec::yaml::{YamlNode, YamlScalar};

/// Returns a problem if a scalar does not match `shape`. Templates pass; they are checked when rendered.
pub(super) fn scalar_problem(
    source: &SourceFile,
    node: &YamlNode<'_>,
    scalar: &YamlScalar<'_>,
    shape: ValueShape,
    key: &str,
) -> Option<Problem> {
    let text = &*scalar.text;
    if text.contains("${{") && takes_templates(shape) {
        return None;
    }
    let wrong = |code: ProblemCode| {
        let takes = expected_phrase(shape);
        let title = format!("`{key}` takes {takes}, but this is `{}`", shortened(text));
        Problem::new(code, node.span.clone(), title)
    };
    let wrong_type = || wrong(ProblemCode::WrongType);
    let bad_duration = |error| bad_duration(source, node, key, text, error);
    match shape {
        ValueShape::Script | ValueShape::Condition => {
            text.trim().is_empty().then(|| empty(node, key))
        }
        ValueShape::Name => (!is_name(text)).then(|| bad_name(source, node, text)),
        ValueShape::Flag => {
            scalar.as_flag().is_none().then(|| flag(source, node, text, wrong_type()))
        }
        ValueShape::Number(..) => {
            scalar_number::<i64>(text, shape).is_none().then(|| wrong(ProblemCode::BadNumber))
        }
        ValueShape::Duration => parse_duration(text).err().map(bad_duration),
        ValueShape::PositiveDuration => parse_positive_duration(text).err().map(bad_duration),
        ValueShape::DurationRange => duration_range(text).err().map(bad_duration),
        ValueShape::RetryOn => retry_on(text).is_none().then(|| wrong(ProblemCode::UnknownWord)),
        ValueShape::IdempotencyKey => bad_idempotency_key(node, text, wrong_type),
        ValueShape::Requirement => requirement(source, node, text),
        ValueShape::OneOfWords(words) => (!words.contains(&text)).then(|| {
            let near = nearest_word(text, words);
            let fix = near.and_then(|word| SuggestedFix::replace(source, &node.span, word));
            with_choice_help(wrong(ProblemCode::UnknownWord).fix(fix), key, text)
        }),
        ValueShape::Text
        | ValueShape::List(_)
        | ValueShape::OneOrMany(_)
        | ValueShape::Map(_)
        | ValueShape::Object(_)
        | ValueShape::ShortOrObject(..)
        | ValueShape::Anything => None,
    }
}

/// Adds a hint if other tools would call the type of a param with `choose` so.
fn with_choice_help(problem: Problem, key: &str, text: &str) -> Problem {
    if key == "type" && matches!(text, "choice" | "enum" | "select") {
        problem.help("remove it: `choose: [a, b]` is enough")
    } else {
        problem
    }
}

const fn takes_templates(shape: ValueShape) -> bool {
    !matches!(shape, ValueShape::Name | ValueShape::Flag | ValueShape::OneOfWords(_))
}

/// Returns the value that was probably meant: a synonym of another tool, or the most similar one.
fn nearest_word(text: &str, words: &[&'static str]) -> Option<&'static str> {
    let synonym = type_synonym(text).filter(|word| words.contains(word));
    synonym.or_else(|| nearest_name(text, words.iter().copied()))
}

fn empty(node: &YamlNode<'_>, key: &str) -> Problem {
    Problem::new(ProblemCode::Empty, node.span.clone(), format!("`{key}` is empty"))
}

/// Maps the type names of other tools.
fn type_synonym(word: &str) -> Option<&'static str> {
    match word.to_lowercase().as_str() {
        "int" | "integer" | "float" | "double" => Some("number"),
        "bool" | "flag" => Some("boolean"),
        "str" | "text" => Some("string"),
        _ => None,
    }
}

fn bad_name(source: &SourceFile, node: &YamlNode<'_>, text: &str) -> Problem {
    let like = name_like(text);
    let fix = is_name(&like).then(|| SuggestedFix::replace(source, &node.span, &like)).flatten();
    Problem::new(
        ProblemCode::BadName,
        node.span.clone(),
        format!("`{}` is not a valid name", shortened(text)),
    )
    .help("names consist of letters, digits, `_` and `-`, and begin with a letter or `_`")
    .fix(fix)
}

/// Describes the expected value as a phrase.
pub(crate) fn expected_phrase(shape: ValueShape) -> String {
    let plural = |shape: &ValueShape| {
        let one = expected_phrase(*shape);
        one.trim_start_matches("a ").trim_start_matches("an ").to_owned() + "s"
    };
    match shape {
        ValueShape::Text => "a string".to_owned(),
        ValueShape::Script => "a command".to_owned(),
        ValueShape::Condition => "an expression".to_owned(),
        ValueShape::Name => "a name".to_owned(),
        ValueShape::Flag => "`true` or `false`".to_owned(),
        ValueShape::Number(min, max) => format!("a whole number from {min} to {max}"),
        ValueShape::Duration => "a duration such as `90s` or `15m`".to_owned(),
        ValueShape::PositiveDuration => {
            "a duration greater than zero such as `90s` or `15m`".to_owned()
        }
        ValueShape::DurationRange => {
            "a duration such as `5s`, or a range such as `5s..1m`".to_owned()
        }
        ValueShape::RetryOn => "`failed`, `timed_out` or `exit-N`".to_owned(),
        ValueShape::IdempotencyKey => "a key such as `deploy-${{ params.version }}`".to_owned(),
        ValueShape::Requirement => "a requirement".to_owned(),
        ValueShape::OneOfWords(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(" or ")
        }
        ValueShape::List(item) => format!("a list of {}", plural(item)),
        ValueShape::OneOrMany(item) => format!("{} or a list of them", expected_phrase(*item)),
        ValueShape::Map(_) | ValueShape::Object(_) => "a map".to_owned(),
        ValueShape::ShortOrObject(short, _) => {
            format!("{} or a map", expected_phrase(*short))
        }
        ValueShape::Anything => "anything".to_owned(),
    }
}

/// Returns a problem if the string cannot be an idempotency key.
fn bad_idempotency_key(
    node: &YamlNode<'_>,
    text: &str,
    wrong: impl FnOnce() -> Problem,
) -> Option<Problem> {
    if BOOLEAN_WORDS.contains(&text) {
        let help = "write a key; every run with the same key reuses the recorded success";
        return Some(wrong().help(help));
    }
    let unfit = text.trim_start_matches("./").is_empty() || !is_displayable(text);
    unfit.then(|| {
        let title = format!("{} is not a valid key", quoted(text));
        Problem::new(ProblemCode::BadName, node.span.clone(), title).help(format!(
            "a key has 1 to {NAME_MAX} bytes, without line breaks and control characters"
        ))
    })
}

fn flag(source: &SourceFile, node: &YamlNode<'_>, text: &str, problem: Problem) -> Problem {
    let meant = match text.to_lowercase().as_str() {
        "yes" | "on" | "y" | "1" | "true" => "true",
        "no" | "off" | "n" | "0" | "false" => "false",
        _ => return problem,
    };
    problem.fix(SuggestedFix::replace(source, &node.span, meant))
}

/// Parses a whole number within the range of its shape.
pub(crate) fn scalar_number<T: TryFrom<i64>>(text: &str, shape: ValueShape) -> Option<T> {
    let ValueShape::Number(min, max) = shape else { return None };
    let number = text.parse::<i64>().ok().filter(|number| (min..=max).contains(number))?;
    T::try_from(number).ok()
}

fn requirement(source: &SourceFile, node: &YamlNode<'_>, text: &str) -> Option<Problem> {
    let error = Requirement::parse(text).err()?;
    let span = node.locate(source.text(), &error.range);
    let problem = Problem::new(ProblemCode::BadRequirement, span, error.message);
    Some(match error.help {
        Some(help) => problem.help(help),
        None => problem,
    })
}

/// Truncates a string for display.
pub(super) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    let cut: String = line.chars().take(40).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
