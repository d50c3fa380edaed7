//! A string with `${{ }}` in it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::error::{ExprError, code};
use super::expression::{ExprPath, Expression};
use super::operators::to_text;
use super::scope::ExprScope;

/// Maximum bytes of a rendered string: more than any operating system allows for an argument or variable.
const RENDERED_MAX: usize = 1024 * 1024;

/// A string with `${{ }}` in it. It is serialized as its source. For a literal `${{` in the result, write
/// `${{ "${{" }}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Template(pub Vec<TemplatePiece>);

/// A part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplatePiece {
    /// Literal text.
    Text(String),
    /// The value of an expression.
    Expr(Expression),
}

impl Template {
    /// Parses a string.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let mut template = Self::default();
        let mut at = 0;
        while let Some(length) = text[at..].find(OPEN) {
            let open = at + length;
            template.push_text(&text[at..open]);
            let (expression, close) = expression_at(text, open)?;
            match expression.literal().and_then(to_text) {
                Some(literal) => template.push_text(&literal),
                None => template.0.push(TemplatePiece::Expr(expression)),
            }
            at = close;
        }
        template.push_text(&text[at..]);
        Ok(template)
    }

    /// Returns the string, if it contains no expressions.
    pub fn is_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [TemplatePiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The approximate size of its source in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let piece = |piece: &TemplatePiece| match piece {
            TemplatePiece::Text(text) => text.len(),
            TemplatePiece::Expr(expression) => expression.text().len() + OPEN.len() + CLOSE.len(),
        };
        self.0.iter().map(piece).sum()
    }

    /// Returns every path that it reads, in text order.
    pub fn paths(&self) -> Vec<ExprPath> {
        self.expressions().flat_map(Expression::paths).collect()
    }

    /// Renders the string with all values.
    pub fn render(&self, scope: &ExprScope) -> Result<String, ExprError> {
        let mut rendered = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePiece::Text(text) => rendered.push_str(text),
                TemplatePiece::Expr(expression) => push_value(&mut rendered, expression, scope)?,
            }
        }
        Ok(rendered)
    }

    /// Replaces values with a known root: whole expressions that read nothing else, and the known paths inside the others.
    pub fn substitute_known(
        &self,
        scope: &ExprScope,
        known_roots: &[&str],
    ) -> Result<Self, ExprError> {
        let known = |read: &ExprPath| known_roots.contains(&&*read.path[0]);
        let mut template = Self::default();
        for piece in &self.0 {
            match piece {
                TemplatePiece::Text(text) => template.push_text(text),
                TemplatePiece::Expr(expression) if expression.paths().iter().all(known) => {
                    let mut value = String::new();
                    push_value(&mut value, expression, scope)?;
                    template.push_text(&value);
                }
                TemplatePiece::Expr(expression) => {
                    template
                        .0
                        .push(TemplatePiece::Expr(expression.substitute_known(scope, known_roots)));
                }
            }
        }
        Ok(template)
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.0.iter().filter_map(|piece| match piece {
            TemplatePiece::Text(_) => None,
            TemplatePiece::Expr(expression) => Some(expression),
        })
    }

    /// Adds text; merges adjacent pieces of text and skips empty ones.
    fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(TemplatePiece::Text(last)) => last.push_str(text),
            _ => self.0.push(TemplatePiece::Text(text.to_owned())),
        }
    }
}

fn push_value(
    rendered: &mut String,
    expression: &Expression,
    scope: &ExprScope,
) -> Result<(), ExprError> {
    rendered.push_str(&expression.render(scope)?);
    if rendered.len() <= RENDERED_MAX {
        return Ok(());
    }
    let what = format!("`{expression}` makes the string longer than {RENDERED_MAX} bytes");
    Err(ExprError::new(code::VALUE, expression.range(), what)
        .help("pass large values in a file, as an artifact"))
}

const OPEN: &str = "${{";
const CLOSE: &str = "}}";

/// Parses the expression whose `${{` is at byte `open`, and returns it with the end of its `}}`.
pub(crate) fn expression_at(text: &str, open: usize) -> Result<(Expression, usize), ExprError> {
    let close = closing(text, open)?;
    let inner = open + OPEN.len()..close - CLOSE.len();
    if text[inner.clone()].trim().is_empty() {
        return Err(empty(open..close));
    }
    Ok((Expression::parse_at(&text[inner.clone()], inner.start)?, close))
}

/// Returns the end of the `}}` for the `${{` at byte `open`. Braces inside quoted strings do not count.
fn closing(text: &str, open: usize) -> Result<usize, ExprError> {
    let inner = &text[open + OPEN.len()..];
    let mut quote = None;
    for (index, byte) in inner.bytes().enumerate() {
        let ends = inner.as_bytes()[index..].starts_with(CLOSE.as_bytes());
        match (quote, byte) {
            (Some(open), _) => quote = quote.filter(|_| byte != open),
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, _) if ends => return Ok(open + OPEN.len() + index + CLOSE.len()),
            (None, _) => {}
        }
    }
    let what = "`${{` has no `}}`";
    let error = ExprError::new(code::EXPRESSION, open..open + OPEN.len(), what);
    Err(match quote {
        Some(_) => error.help("a quote after it is unclosed too"),
        None => error.help("write ${{ params.x }}"),
    })
}

fn empty(braces: Range<usize>) -> ExprError {
    ExprError::new(code::EXPRESSION, braces, "the braces contain no expression")
        .help("write ${{ params.x }}; for the literal braces write ${{ \"${{ }}\" }}")
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            TemplatePiece::Text(text) => f.write_str(&text.replace(OPEN, "${{ \"${{\" }}")),
            TemplatePiece::Expr(expression) => write!(f, "{OPEN} {expression} {CLOSE}"),
        })
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}
