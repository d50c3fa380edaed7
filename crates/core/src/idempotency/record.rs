//! What became of the step that did it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{RunId, StepIx};
use crate::outcome::{StepOutput, StepStatus};
use crate::time::Time;
use crate::word_set;

/// Who did it, and when it was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyOrigin {
    /// In which run.
    pub run: RunId,
    /// Which step of it.
    pub step: StepIx,
    /// That step's name: its run may be gone when somebody asks.
    pub name: Box<str>,
    /// When it ended.
    pub at: Time,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// Who did it.
    pub origin: IdempotencyOrigin,
    /// How that step ended.
    pub status: StepStatus,
    /// What it handed on.
    pub output: StepOutput,
}

impl IdempotencyRecord {
    /// Whether it may stand for doing it again.
    pub fn is_success(&self) -> bool {
        self.status == StepStatus::Succeeded
    }
}

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdempotencyKeyStatus {
    /// A step is at it.
    Pending,
    /// It was done.
    Completed,
    /// The last who tried did not succeed: the next one tries.
    Failed,
}

word_set!(IdempotencyKeyStatus {
    Pending => "pending",
    Completed => "completed",
    Failed => "failed",
});

impl fmt::Display for IdempotencyKeyStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
