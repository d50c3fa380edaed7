//! Problems: what is wrong with a file, where, why, and what to write instead.
//!
//! A [`Problem`] is data: a stable [`Code`], a place in the bytes of a [`Source`], sentences, and where possible the
//! corrected line. [`render`] draws it as text. The page behind each code (`windlass explain`) is in `codes/`, and a test
//! reads the examples on it, so that an explanation cannot become untrue.

mod code;
mod json;
mod render;
mod report;
mod source;

pub use code::Code;
pub use render::{Style, one_line, render};
pub use report::{Fix, PROBLEMS_MAX, Problem, Severity};
pub use source::{Place, Rejected, SOURCE_MAX, Source};
