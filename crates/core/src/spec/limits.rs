//! Limits of the lists in a file. Limits that the engine also enforces are in `plan::limits`.

use crate::plan::WORK_MAX;

/// Environment variables of a step, including those of the pipeline and the defaults, and values of `with`. More variables
/// and their values do not fit into the environment of a process.
pub(crate) const ENV_MAX: usize = 1_000;

/// Tags of a step; users type them.
pub(crate) const TAGS_MAX: usize = 64;

/// Secrets of a step.
pub(crate) const SECRETS_MAX: usize = 256;

/// Outputs of a step.
pub(crate) const OUTPUTS_MAX: usize = 256;

/// Patterns of the reports of a step: each is compared with every file that is looked at.
pub(crate) const REPORT_PATTERNS_MAX: usize = 64;

/// Patterns of the artifacts of a step. Each is compared with every path of the workspace.
pub(crate) const ARTIFACT_PATHS_MAX: usize = 100;

/// Steps whose artifacts a step gets by name.
pub(crate) const FETCHES_MAX: usize = 1_000;

/// Axes of a matrix: with two values each, more make more cells than a matrix may have.
pub(crate) const AXES_MAX: usize = 16;

/// Entries of `include` and of `exclude`.
pub(crate) const CELL_PARTS_MAX: usize = 1_000;

/// Comparisons of cells with entries of `include` and `exclude`: tens of milliseconds.
pub(crate) const CELL_MATCHES_MAX: usize = 20_000_000;

/// Params of a pipeline, and choices of a param; users fill them in.
pub(crate) const PARAMS_MAX: usize = 1_000;

/// Bytes of the value of a param: the Linux limit for one argument or variable of a process.
pub(crate) const PARAM_BYTES_MAX: usize = 128 * 1024;

/// Locks that a pipeline declares.
pub(crate) const DECLARED_LOCKS_MAX: usize = 10_000;

/// Bytes of one string or script: the limit of the work of a step.
pub(crate) const TEXT_BYTES_MAX: usize = WORK_MAX;

/// `${{ }}` in one string.
pub(crate) const VALUES_MAX: usize = 1_000;

/// Searches for similar names in one file. Each search compares all names of the file.
pub(crate) const SUGGESTIONS_MAX: usize = 20;
