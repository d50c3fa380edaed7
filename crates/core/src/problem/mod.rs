//! Problems: what is wrong with a file, where, why, and how to fix it.
//!
//! A [`Problem`] is data: a stable [`ProblemCode`], a location in a [`SourceFile`], messages, and where possible a
//! corrected line. [`render_problem`] renders it as text. The page of each code (`windlass explain`) is in `codes/`. A test
//! checks the examples of every page.

mod code;
mod json;
mod problem_type;
mod render;
mod source;

pub use code::ProblemCode;
pub use json::ProblemJson;
pub use problem_type::{PROBLEMS_MAX, Problem, ProblemSeverity, SuggestedFix};
pub use render::{ProblemStyle, render_one_line, render_problem};
pub use source::{LineColumn, RejectedSource, SOURCE_MAX, SourceFile};
