//! Errors of expressions, scripts and requirements.

use std::ops::Range;

/// An error in a text, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// The wrong bytes of the given text, on character boundaries.
    pub range: Range<usize>,
    /// The problem code, one of [`code`].
    pub code: &'static str,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

/// The codes of [`ExprError`]; `problem::ProblemCode` has their pages.
pub mod code {
    /// A condition or an operand of `and`, `or`, `not` is not a boolean.
    pub const NOT_A_BOOLEAN: &str = "E088";
    /// An invalid expression.
    pub const EXPRESSION: &str = "E101";
    /// `${{ }}` where a shell cannot read a variable.
    pub const SPLICE: &str = "E102";
    /// An invalid requirement.
    pub const REQUIREMENT: &str = "E103";
    /// A value that does not fit the operation.
    pub const VALUE: &str = "E104";
}

impl ExprError {
    pub(crate) fn new(code: &'static str, range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, code, message: message.into(), help: None }
    }

    /// Sets the help text.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Shifts the range into a longer text, in which the given text begins at `offset`.
    pub(crate) fn shifted(mut self, offset: usize) -> Self {
        self.range = self.range.start + offset..self.range.end + offset;
        self
    }
}
