//! The pipeline file: YAML in, a [`Pipeline`] with the place of everything out, or every problem at once.
//!
//! ```text
//! Source ──tree──► nodes ──shape──► every key and value looks right ──read──► Pipeline ──check──► needs and names fit
//! ```
//!
//! None of the stages stops at the first problem. `keys` is the one list of what may be written; `shape` and the JSON
//! Schema both come from it.

mod callable;
mod check;
mod file;
mod keys;
mod limits;
mod names;
mod pipeline;
mod read;
mod shape;
pub(crate) mod tree;
mod units;

pub use callable::{Callable, Calls, Catalogue, NeedForm, NeedOfCall};
pub(crate) use check::platform_problem;
pub use file::{Options, read, read_knowing};
pub(crate) use keys::Shape;
pub use keys::schema;
pub(crate) use limits::{MATCHES_MAX, PARAM_BYTES_MAX};
pub use names::{is_name, nearest};
pub use pipeline::{
    Action, Asked, Axis, Call, CallTarget, CellPart, Late, LockRef, Matrix, MatrixForm, NeedRef,
    Nodes, Param, ParamKind, Pipeline, ReadPath, Retry, Setting, Settings, Spanned, Step, Text,
    Variable,
};
pub(crate) use read::{expression_problem, retry_on, wait};
pub(crate) use shape::{expected, scalar_number};
pub use units::{DurationError, duration, limit};
