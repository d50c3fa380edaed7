//! What is wrong with an expression, a script or a requirement, and where.

use std::ops::Range;

/// What is wrong with a piece of text, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// The bytes that are wrong, counted in the text that was given; on character boundaries.
    pub range: Range<usize>,
    /// Which problem it is, one of [`code`].
    pub code: &'static str,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// The codes of [`ExprError`]; `problem::Code` has their pages.
pub mod code {
    /// A condition or an operand of `and`, `or`, `not` is neither true nor false.
    pub const NOT_A_BOOLEAN: &str = "E088";
    /// An expression cannot be read.
    pub const EXPRESSION: &str = "E101";
    /// `${{ }}` stands where a shell would not see a value.
    pub const SPLICE: &str = "E102";
    /// A requirement cannot be read.
    pub const REQUIREMENT: &str = "E103";
    /// An expression met a value that it can do nothing with.
    pub const VALUE: &str = "E104";
}

impl ExprError {
    pub(crate) fn new(code: &'static str, range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, code, message: message.into(), help: None }
    }

    /// The same, with what to write instead.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, seen from a text in which ours begins at `offset`.
    pub(crate) fn shifted(mut self, offset: usize) -> Self {
        self.range = self.range.start + offset..self.range.end + offset;
        self
    }
}
