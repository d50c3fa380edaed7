//! The recorded result of the step that last held a key.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{RunId, StepIx};
use crate::outcome::{StepOutput, StepStatus};
use crate::time::Time;
use crate::word_set;

/// The step that produced a record, and when it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyOrigin {
    /// The step's run.
    pub run: RunId,
    /// The step within the run.
    pub step: StepIx,
    /// The step's name: its run may be deleted before the record is read.
    pub name: Box<str>,
    /// The time when the step ended.
    pub at: Time,
}

/// The result of the step that last held a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// The step that produced the record.
    pub origin: IdempotencyOrigin,
    /// The final status of the step.
    pub status: StepStatus,
    /// The output of the step.
    pub output: StepOutput,
}

impl IdempotencyRecord {
    /// Whether the record can be reused instead of running a step.
    pub fn is_success(&self) -> bool {
        self.status == StepStatus::Succeeded
    }
}

/// The state of an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdempotencyKeyStatus {
    /// A step holds the key.
    Pending,
    /// A success is recorded.
    Completed,
    /// The last step did not succeed; the next one runs.
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
