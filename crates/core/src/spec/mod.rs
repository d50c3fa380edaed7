//! The pipeline file: YAML in, a [`PipelineDecl`] with the place of everything out, or every problem at once.
//!
//! ```text
//! Source ──tree──► nodes ──shape──► every key and value looks right ──read──► Pipeline ──check──► needs and names fit
//! ```
//!
//! None of the stages stops at the first problem. `keys` is the one list of what may be written; `shape` and the JSON
//! Schema both come from it.

mod callable;
mod check;
mod declaration;
mod duration;
mod keys;
mod limits;
mod names;
mod read;
mod read_pipeline;
mod shape;
pub(crate) mod yaml;

pub use callable::{CallableCatalog, CallableNeed, CallableNeedForm, CallableSet, CallableStep};
pub(crate) use check::platform_problem;
pub use declaration::{
    ActionDecl, CallDecl, CallTarget, LockRef, MatrixAxis, MatrixCellPart, MatrixDecl, MatrixForm,
    NeedRef, NodeFilter, ParamDecl, ParamKind, PipelineDecl, RetryDecl, Spanned, SpannedCondition,
    SpannedPath, SpannedSetting, SpannedTemplate, StepDecl, StepSettings, TemplatedValue,
    VariableDecl,
};
pub use duration::{DurationError, parse_duration, parse_positive_duration};
pub(crate) use keys::ValueShape;
pub use keys::pipeline_json_schema;
pub(crate) use limits::{CELL_MATCHES_MAX, PARAM_BYTES_MAX};
pub use names::{is_name, nearest_name};
pub(crate) use read::{duration_range, expression_problem, retry_on};
pub use read_pipeline::{PipelineReadOptions, read_pipeline, read_pipeline_with_callables};
pub(crate) use shape::{expected_phrase, scalar_number};
