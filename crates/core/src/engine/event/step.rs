//! Events about steps that have no lease.

use serde::{Deserialize, Serialize};

use crate::id::{RunId, StepIx};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{StepOutput, StepStatus};

/// The back-off before the next attempt of a step is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackoffEnded {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
}

/// The condition of a step whose needs have ended held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionHeld {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
}

/// A step ended without a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSettled {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// How and why the step ended.
    pub settled: StepSettlement,
}

/// A step acquired its idempotency key and is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyTaken {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The key.
    pub key: Box<str>,
}

/// Another step holds the idempotency key; this step waits for the outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAwaited {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The key.
    pub key: Box<str>,
    /// The run of the step that holds the key.
    pub by: RunId,
}

/// A step with the same idempotency key has succeeded before; this step ended with the recorded output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecalled {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The key.
    pub key: Box<str>,
    /// The step that succeeded, and when.
    pub origin: IdempotencyOrigin,
    /// The output that dependents get.
    pub output: StepOutput,
}

/// How a step ended without a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepSettlement {
    /// The condition of the step requires a failure, and no need failed.
    SkippedByCondition,
    /// The condition on values did not hold.
    SkippedByValues {
        /// The condition, with the values.
        why: Box<str>,
    },
    /// The condition on values could not be evaluated.
    FailedCondition {
        /// The error.
        why: Box<str>,
    },
    /// No worker matches the step, and the run does not wait for one.
    SkippedUnplaceable,
    /// A need failed.
    Blocked {
        /// The root cause.
        cause: StepIx,
    },
    /// A need could not run: no worker matches its requirements.
    Withheld {
        /// The step that matched no worker.
        cause: StepIx,
    },
    /// The run was cancelled before the step began.
    CancelledWithRun,
    /// Another step of the run failed before this step began.
    CancelledByFailure {
        /// The step that failed.
        cause: StepIx,
    },
    /// A newer run took the place of the step at a lock.
    Superseded {
        /// The newer run.
        by: RunId,
    },
    /// No matching worker came in time.
    FailedNoWorker,
    /// The locks of the step were not free in time.
    FailedNoLock,
    /// The inputs of the step exceed the size of a grant.
    FailedTooLarge {
        /// The size of the inputs in bytes.
        bytes: u64,
    },
    /// The idempotency key could not be evaluated.
    FailedKey {
        /// The error.
        why: Box<str>,
    },
    /// The step that held the idempotency key did not end in time.
    FailedNoKey {
        /// The run of that step.
        by: RunId,
    },
    /// All slots of a lock are held by steps inside which the run was started. They wait for the run.
    FailedAncestorLock {
        /// The name of the lock.
        lock: Box<str>,
        /// The nearest of these steps.
        holder: AncestorStep,
    },
    /// A step inside which the run was started holds the idempotency key. It waits for the run.
    FailedAncestorKey {
        /// The key.
        key: Box<str>,
        /// That step.
        holder: AncestorStep,
    },
}

/// A step inside which another run was started, directly or through further runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AncestorStep {
    /// The run of the step.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The name of the step.
    pub name: Box<str>,
}

impl StepSettlement {
    /// The root cause, if another step kept this one from running.
    pub const fn cause(&self) -> Option<StepIx> {
        match self {
            Self::Blocked { cause }
            | Self::Withheld { cause }
            | Self::CancelledByFailure { cause } => Some(*cause),
            Self::SkippedByCondition
            | Self::SkippedByValues { .. }
            | Self::SkippedUnplaceable
            | Self::CancelledWithRun
            | Self::Superseded { .. }
            | Self::FailedNoWorker
            | Self::FailedNoLock
            | Self::FailedCondition { .. }
            | Self::FailedTooLarge { .. }
            | Self::FailedKey { .. }
            | Self::FailedNoKey { .. }
            | Self::FailedAncestorLock { .. }
            | Self::FailedAncestorKey { .. } => None,
        }
    }

    /// The status that a step has afterwards.
    pub const fn status(&self) -> StepStatus {
        match self {
            Self::SkippedByCondition | Self::SkippedByValues { .. } | Self::SkippedUnplaceable => {
                StepStatus::Skipped
            }
            Self::Blocked { .. } | Self::Withheld { .. } => StepStatus::Blocked,
            Self::CancelledWithRun | Self::CancelledByFailure { .. } | Self::Superseded { .. } => {
                StepStatus::Cancelled
            }
            Self::FailedNoWorker
            | Self::FailedNoLock
            | Self::FailedCondition { .. }
            | Self::FailedTooLarge { .. }
            | Self::FailedKey { .. }
            | Self::FailedNoKey { .. }
            | Self::FailedAncestorLock { .. }
            | Self::FailedAncestorKey { .. } => StepStatus::Failed,
        }
    }
}
