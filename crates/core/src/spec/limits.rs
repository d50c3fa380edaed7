//! Bounds on the lists of a file. Those that the engine must keep too are with the plan.

use crate::plan::WORK_MAX;

/// Environment variables of a step, with those of the pipeline and the defaults; values that a step is called with. More do
/// not fit into the environment of a process together with their values.
pub(crate) const ENV_MAX: usize = 1_000;

/// Tags of a step: words that people type.
pub(crate) const TAGS_MAX: usize = 64;

/// Secrets of a step.
pub(crate) const SECRETS_MAX: usize = 256;

/// Outputs of a step.
pub(crate) const OUTPUTS_MAX: usize = 256;

/// Axes of a matrix: with two values each, more make more cells than a matrix may have.
pub(crate) const AXES_MAX: usize = 16;

/// Entries of `include` and of `exclude`.
pub(crate) const CELL_PARTS_MAX: usize = 1_000;

/// Cells that are held against entries of `include` and `exclude`: some tens of milliseconds.
pub(crate) const CELL_MATCHES_MAX: usize = 20_000_000;

/// Params of a pipeline, and choices of a param: forms that people fill in.
pub(crate) const PARAMS_MAX: usize = 1_000;

/// Bytes of the value of a param: what Linux takes as one argument or variable of a process.
pub(crate) const PARAM_BYTES_MAX: usize = 128 * 1024;

/// Locks whose slots a pipeline declares.
pub(crate) const DECLARED_LOCKS_MAX: usize = 10_000;

/// Bytes of one text or script: the work of a step has no room for more.
pub(crate) const TEXT_BYTES_MAX: usize = WORK_MAX;

/// `${{ }}` in one text.
pub(crate) const VALUES_MAX: usize = 1_000;

/// Suggestions for misspelt names of one file that are looked for among the names of the file itself: each is a look at
/// all of them.
pub(crate) const SUGGESTIONS_MAX: usize = 20;
