//! One expression: its text, the paths that it reads, and its value.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::error::{ExprError, code};
use super::evaluate::{evaluate, not_a_boolean};
use super::node::{ExprNode, ExprNodeKind};
use super::operators::to_text;
use super::parse::parse;
use super::scope::ExprScope;

/// The content of one `${{ }}`, or the part of an `if:` about values. Expressions with the same text are equal, and only
/// the text is serialized.
#[derive(Clone)]
pub struct Expression {
    /// The text without surrounding spaces.
    text: Box<str>,
    /// The offset of the text in the given one.
    at: usize,
    node: ExprNode,
}

/// A path that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprPath {
    /// The names: `["steps", "bundle", "outputs", "version"]`.
    pub path: Vec<String>,
    /// Its bytes in the given text.
    pub range: Range<usize>,
}

impl Expression {
    /// Parses an expression. Status functions are refused; they are allowed only in `if:`.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        Self::parse_at(text, 0)
    }

    /// Parses an expression that begins at byte `offset` of a longer text. Ranges refer to the longer text.
    pub(crate) fn parse_at(text: &str, offset: usize) -> Result<Self, ExprError> {
        let at = offset + text.len() - text.trim_start().len();
        let text = text.trim();
        let parsed = parse(text).and_then(|node| match node.statuses().first() {
            Some((status, _)) => Err(misplaced_status(text, status.range.clone())),
            None => Ok(node),
        });
        let node = parsed.map_err(|error| error.shifted(at))?;
        Ok(Self { text: text.into(), at, node })
    }

    /// The text without surrounding spaces.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns every path that it reads, in text order.
    pub fn paths(&self) -> Vec<ExprPath> {
        let mut uses = Vec::new();
        self.node.walk(&mut |node| {
            if let ExprNodeKind::Path(path) = &node.kind {
                let range = without_brackets(&self.text, node.range.clone());
                let range = range.start + self.at..range.end + self.at;
                uses.push(ExprPath { path: path.clone(), range });
            }
        });
        uses
    }

    /// Evaluates the expression.
    pub fn evaluate(&self, scope: &ExprScope) -> Result<Value, ExprError> {
        self.borrowed(scope).map(Cow::into_owned)
    }

    /// Evaluates the expression, which must be a boolean.
    pub fn evaluate_bool(&self, scope: &ExprScope) -> Result<bool, ExprError> {
        let value = self.borrowed(scope)?;
        value.as_bool().ok_or_else(|| not_a_boolean(&self.text, self.range(), &value))
    }

    /// Evaluates the expression as a string: null is refused; lists and objects become JSON.
    pub fn render(&self, scope: &ExprScope) -> Result<String, ExprError> {
        let value = self.borrowed(scope)?;
        to_text(&value).map(Cow::into_owned).ok_or_else(|| self.no_value())
    }

    /// Replaces all paths that begin with a known root by their values. A value that has no literal (a string with both
    /// kinds of quotes) leaves its path unchanged.
    #[must_use]
    pub fn substitute_known(&self, scope: &ExprScope, known_roots: &[&str]) -> Self {
        let mut text = self.text.to_string();
        for read in self.paths().iter().rev() {
            let known = known_roots.contains(&&*read.path[0]);
            if let Some(literal) = known.then(|| literal(scope.get(&read.path))).flatten() {
                text.replace_range(read.range.start - self.at..read.range.end - self.at, &literal);
            }
        }
        Self::parse_at(&text, self.at).unwrap_or_else(|_| self.clone())
    }

    /// The value, if the expression is a literal.
    pub(super) fn literal(&self) -> Option<&Value> {
        if let ExprNodeKind::Literal(value) = &self.node.kind { Some(value) } else { None }
    }

    /// Whether it can never be a boolean.
    pub(super) fn never_boolean(&self) -> bool {
        self.node.never_boolean()
    }

    fn borrowed<'a>(&'a self, scope: &'a ExprScope) -> Result<Cow<'a, Value>, ExprError> {
        evaluate(&self.node, &self.text, scope).map_err(|error| error.shifted(self.at))
    }

    fn no_value(&self) -> ExprError {
        let paths: Vec<String> = self.paths().iter().map(|read| read.path.join(".")).collect();
        let subject = if paths.is_empty() { self.text.to_string() } else { paths.join("` and `") };
        let has = if paths.len() > 1 { "have" } else { "has" };
        let what = format!("`{subject}` {has} no value, and a string requires one");
        let error = ExprError::new(code::VALUE, self.range(), what);
        match paths.first() {
            Some(path) if path.starts_with("steps.") => {
                error.help(format!("a skipped step has no outputs: write default({path}, \"…\")"))
            }
            Some(path) => error.help(format!("write default({path}, \"…\")")),
            None => error,
        }
    }

    /// Its bytes in the given text.
    pub(super) fn range(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
}

/// Returns the bytes of a path without brackets around it, which are part of its node.
fn without_brackets(text: &str, range: Range<usize>) -> Range<usize> {
    let around = |c: char| c == '(' || c == ')' || c.is_whitespace();
    let path = text[range.clone()].trim_start_matches(around);
    let start = range.end - path.len();
    start..start + path.trim_end_matches(around).len()
}

/// Formats a value as a literal. A negative number becomes a string, which compares with numbers if it is spelled like one.
fn literal(value: &Value) -> Option<String> {
    let quoted = |text: &str| {
        let quote = ['"', '\''].into_iter().find(|quote| !text.contains(*quote))?;
        Some(format!("{quote}{text}{quote}"))
    };
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if number.to_string().starts_with('-') => quoted(&number.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Some(value.to_string())
        }
    }
}

fn misplaced_status(text: &str, range: Range<usize>) -> ExprError {
    let call = &text[range.clone()];
    ExprError::new(code::EXPRESSION, range.clone(), format!("`{call}` is allowed only in `if:`"))
        .help("it decides when a step runs and has no value")
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Expression {}

impl PartialOrd for Expression {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expression {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}
