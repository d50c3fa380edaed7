//! Every exit code of the program. Scripts rely on them: a code keeps its meaning.
//!
//! `run_watch/finished_run.rs` chooses the code of a run, `error.rs` that of a refused command.

/// The command succeeded.
pub(super) const SUCCESS: u8 = 0;

/// A step or the run failed.
pub(super) const STEP_FAILED: u8 = 1;

/// A store or a backup is damaged.
#[cfg(feature = "postgres")]
pub(super) const DAMAGED: u8 = 1;

/// The output could not be written.
pub(super) const OUTPUT: u8 = 1;

/// The arguments are invalid or cannot be served.
pub(super) const USAGE: u8 = 2;

/// The pipeline file cannot be read, or is invalid.
pub(super) const INVALID_PIPELINE: u8 = 3;

/// A step could not run because no worker matches its requirements, and nothing else failed.
pub(super) const UNMET_REQUIREMENT: u8 = 4;

/// The leader, the store or the link cannot be reached.
pub(super) const UNREACHABLE: u8 = 5;

/// The run was cancelled.
pub(super) const CANCELLED: u8 = 6;

/// The user interrupted it: 128 plus the number of SIGINT, as in shells.
pub(super) const INTERRUPTED: u8 = 130;
