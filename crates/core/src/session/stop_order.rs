//! The order to stop a step: how, and the reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Fence;
use crate::word_set;

/// How a step is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// By SIGTERM, and by SIGKILL after its grace.
    Term,
    /// By SIGKILL at once.
    Kill,
}

/// The reason for which a step is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Its run was cancelled.
    RunCancelled,
    /// Another step of its run failed.
    FailFast,
    /// A newer run took its place at a lock.
    Superseded,
    /// It exceeded its timeout and its worker did not end it.
    Overdue,
    /// Its lease has ended; another worker may have the step.
    Stale,
}

impl StopMode {
    /// Returns its name in JSON and SQL.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Term => "term",
            Self::Kill => "kill",
        }
    }
}

word_set!(StopReason {
    RunCancelled => "run_cancelled",
    FailFast => "fail_fast",
    Superseded => "superseded",
    Overdue => "overdue",
    Stale => "stale",
});

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RunCancelled => "run cancelled",
            Self::FailFast => "fail-fast",
            Self::Superseded => "superseded",
            Self::Overdue => "overdue",
            Self::Stale => "stale",
        })
    }
}

/// An order to stop a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopOrder {
    /// The lease.
    pub fence: Fence,
    /// How the step is stopped.
    pub how: StopMode,
    /// The reason.
    pub why: StopReason,
}
