//! Reads the pipeline file: YAML to a [`PipelineDecl`] with the location of every part, or all problems at once.
//!
//! ```text
//! SourceFile ──yaml──► nodes ──shape──► known keys, right types ──read──► PipelineDecl ──check──► valid needs and names
//! ```
//!
//! No stage stops at the first problem. `keys` is the single list of all keys; `shape` and the JSON Schema both use it.

mod callable;
mod check;
mod declaration;
mod duration;
mod keys;
mod limits;
mod names;
mod plan_time_reads;
mod read;
mod read_pipeline;
mod shape;
pub(crate) mod yaml;

pub use callable::{CallableCatalog, CallableNeed, CallableNeedForm, CallableSet, CallableStep};
pub(crate) use check::platform_problem;
pub use declaration::{
    ActionDecl, ArtifactsDecl, CallDecl, CallTarget, FetchDecl, LockRef, MatrixAxis,
    MatrixCellPart, MatrixDecl, MatrixForm, NeedRef, NodeFilter, ParamDecl, ParamKind,
    PipelineDecl, RetryDecl, Spanned, SpannedCondition, SpannedPath, SpannedSetting,
    SpannedTemplate, StepDecl, StepSettings, TemplatedValue, VariableDecl, WorkspaceDecl,
};
pub use duration::{DurationError, parse_duration, parse_positive_duration};
pub(crate) use keys::{PER_WORKER, PRIORITY, ValueShape};
pub use keys::{pipeline_json_schema, pipeline_reference};
pub(crate) use limits::{CELL_MATCHES_MAX, PARAM_BYTES_MAX};
pub use names::{is_name, nearest_name};
pub(crate) use read::{duration_range, expression_problem, retry_on};
pub use read_pipeline::{PipelineReadOptions, read_pipeline, read_pipeline_with_callables};
pub(crate) use shape::{expected_phrase, scalar_number};
