//! Splits text into tokens, and suggests the right operators for those of other languages.

use std::ops::Range;

use serde_json::{Number, Value};

use super::error::{ExprError, code};
use super::foreign_sign::foreign_sign;

/// A token and the bytes that it covers.
#[derive(Clone, Debug)]
pub(super) struct ExprToken<'a> {
    pub(super) kind: ExprTokenKind<'a>,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExprTokenKind<'a> {
    /// Names joined by dots; a single name is not a keyword.
    Path(&'a str),
    /// A string, a number, `true`, `false` or `null`.
    Literal(Value),
    And,
    Or,
    Not,
    In,
    Compare(ComparisonOperator),
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    End,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOperator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    NotIn,
}

impl ComparisonOperator {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
        }
    }
}

/// Returns all tokens of the text; the last one is [`ExprTokenKind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<ExprToken<'_>>, ExprError> {
    let mut list = Vec::new();
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        let (kind, length) = token(rest).map_err(|error| error.shifted(at))?;
        let end = kind == ExprTokenKind::End;
        list.push(ExprToken { kind, range: at..at + length });
        if end {
            return Ok(list);
        }
        at += length;
    }
}

/// Returns the first token and its length.
fn token(rest: &str) -> Result<(ExprTokenKind<'_>, usize), ExprError> {
    let Some(first) = rest.chars().next() else { return Ok((ExprTokenKind::End, 0)) };
    let digit_next = rest[first.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
    match first {
        '"' | '\'' => text_literal(rest, first),
        'a'..='z' | 'A'..='Z' | '_' => path(rest),
        '0'..='9' => number(rest),
        '-' if digit_next => number(rest),
        _ => sign(rest).ok_or_else(|| foreign_sign(rest, first)),
    }
}

fn sign(rest: &str) -> Option<(ExprTokenKind<'static>, usize)> {
    // Longer operators first. `===` and `<>` are not operators, but begin like one.
    let signs = [
        ("==", ExprTokenKind::Compare(ComparisonOperator::Equal)),
        ("!=", ExprTokenKind::Compare(ComparisonOperator::Unequal)),
        ("<=", ExprTokenKind::Compare(ComparisonOperator::AtMost)),
        (">=", ExprTokenKind::Compare(ComparisonOperator::AtLeast)),
        ("<", ExprTokenKind::Compare(ComparisonOperator::Less)),
        (">", ExprTokenKind::Compare(ComparisonOperator::Greater)),
        ("(", ExprTokenKind::Open),
        (")", ExprTokenKind::Close),
        ("[", ExprTokenKind::OpenList),
        ("]", ExprTokenKind::CloseList),
        (",", ExprTokenKind::Comma),
    ];
    if rest.starts_with("===") || rest.starts_with("!==") || rest.starts_with("<>") {
        return None;
    }
    signs
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .map(|(sign, kind)| (kind, sign.len()))
}

fn text_literal(rest: &str, quote: char) -> Result<(ExprTokenKind<'_>, usize), ExprError> {
    let Some(length) = rest[1..].find(quote) else {
        let what = format!("the string that begins here has no closing {quote}");
        return Err(ExprError::new(code::EXPRESSION, 0..rest.len(), what));
    };
    Ok((ExprTokenKind::Literal(rest[1..=length].into()), length + 2))
}

/// The length of the name at the beginning of the text.
fn name_length(rest: &str) -> usize {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let starts = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts { rest.find(|c| !inner(c)).unwrap_or(rest.len()) } else { 0 }
}

fn path(rest: &str) -> Result<(ExprTokenKind<'_>, usize), ExprError> {
    let mut length = name_length(rest);
    while rest[length..].starts_with('.') {
        let name = name_length(&rest[length + 1..]);
        if name == 0 {
            return Err(bad_segment(rest, length));
        }
        length += 1 + name;
    }
    Ok((word(&rest[..length]).unwrap_or(ExprTokenKind::Path(&rest[..length])), length))
}

fn word(text: &str) -> Option<ExprTokenKind<'static>> {
    Some(match text {
        "and" => ExprTokenKind::And,
        "or" => ExprTokenKind::Or,
        "not" => ExprTokenKind::Not,
        "in" => ExprTokenKind::In,
        "true" => ExprTokenKind::Literal(Value::Bool(true)),
        "false" => ExprTokenKind::Literal(Value::Bool(false)),
        "null" => ExprTokenKind::Literal(Value::Null),
        _ => return None,
    })
}

fn bad_segment(rest: &str, dot: usize) -> ExprError {
    let path = &rest[..dot];
    let after = rest[dot + 1..].chars().next().map_or(0, char::len_utf8);
    ExprError::new(code::EXPRESSION, 0..dot + 1 + after, format!("a name must follow `{path}.`"))
        .help("names consist of letters, digits, `_` and `-`, and begin with a letter or `_`")
}

fn number(rest: &str) -> Result<(ExprTokenKind<'_>, usize), ExprError> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let length = 1 + rest[1..].find(|c| !part(c)).unwrap_or(rest.len() - 1);
    let text = &rest[..length];
    let refused = |what: String| ExprError::new(code::EXPRESSION, 0..length, what);
    let number = decimal(text).ok_or_else(|| {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let error = refused(format!("the number `{text}` is too large"));
            return error.help(format!("write \"{text}\" to compare strings"));
        }
        let help = format!("write a number as `12` or `1.5`, or quote a string: \"{text}\"");
        refused(format!("`{text}` is not a number")).help(help)
    })?;
    let shortest = spelling(&number);
    if shortest != text {
        return Err(refused(format!("the number `{text}` would become {shortest}")).help(format!(
            "write \"{text}\" to compare strings, or `{shortest}` to compare numbers"
        )));
    }
    Ok((ExprTokenKind::Literal(Value::Number(number)), length))
}

/// Parses a decimal number: digits with an optional sign and fraction.
pub(super) fn decimal(text: &str) -> Option<Number> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    if !digits(whole) || !fraction.is_none_or(digits) {
        return None;
    }
    if fraction.is_some() {
        return Number::from_f64(text.parse().ok()?);
    }
    let signed = text.parse::<i64>().map(Number::from);
    signed.or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}

/// Formats a number in its shortest form: `1` for the JSON number `1.0`.
pub(super) fn spelling(number: &Number) -> String {
    let text = number.to_string();
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}
