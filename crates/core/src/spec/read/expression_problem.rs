//! The problem of an expression that cannot be read.

use std::ops::Range;

use crate::expr::ExprError;
use crate::problem::{Problem, ProblemCode};

/// Maximum problems reported for one string.
pub(super) const ERRORS_MAX: usize = 20;

/// Returns the `${{ }}` around a position.
pub(super) fn expression_around(text: &str, at: usize) -> Option<Range<usize>> {
    let until = text.ceil_char_boundary((at + 3).min(text.len()));
    let open = text[..until].rfind("${{").filter(|open| *open <= at)?;
    let close = open + text[open..].find("}}")? + 2;
    (at < close).then_some(open..close)
}

/// Converts an expression error to a problem at a location of the file.
pub(crate) fn expression_problem(error: ExprError, span: Range<usize>) -> Problem {
    let code = ProblemCode::parse(error.code).unwrap_or(ProblemCode::Expression);
    let problem = Problem::new(code, span, error.message);
    match error.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
