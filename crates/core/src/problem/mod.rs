//! Problems: what is wrong with a file, where, why, and what to write instead.
//!
//! A [`Problem`] is data: a stable [`ProblemCode`], a place in the bytes of a [`SourceFile`], sentences, and where possible the
//! corrected line. [`render_problem`] draws it as text. The page behind each code (`windlass explain`) is in `codes/`, and a test
//! reads the examples on it, so that an explanation cannot become untrue.

mod code;
mod json;
mod problem_type;
mod render;
mod source;

pub use code::ProblemCode;
pub use problem_type::{PROBLEMS_MAX, Problem, ProblemSeverity, SuggestedFix};
pub use render::{ProblemStyle, render_one_line, render_problem};
pub use source::{LineColumn, RejectedSource, SOURCE_MAX, SourceFile};
