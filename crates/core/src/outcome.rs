//! Outcomes of attempts, and the status of steps and runs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::large_value::LargeValueRef;
use crate::object::ObjectId;
use crate::word_set;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OutcomeKind {
    /// It succeeded.
    Succeeded,
    /// Its command failed.
    Failed,
    /// It exceeded its timeout and was stopped.
    TimedOut,
    /// It was stopped by order.
    Cancelled,
    /// The result is unknown: its worker is gone, or stopped it after it lost contact.
    Lost,
    /// It was handed back and never started.
    Released,
}

word_set!(OutcomeKind {
    Succeeded => "succeeded",
    Failed => "failed",
    TimedOut => "timed_out",
    Cancelled => "cancelled",
    Lost => "lost",
    Released => "released",
});

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Maximum bytes of output inside an outcome; a larger output is stored beside it.
pub const INLINE_OUTPUT_MAX: usize = 64 * 1024;

/// What a step passes to its dependents: a value, and files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutput {
    /// The value.
    pub value: StepValue,
    /// The manifest of its artifacts; `None` if it has none. The files exist in the object store before the outcome is
    /// reported.
    pub artifacts: Option<ObjectId>,
}

/// The value that a step passes to its dependents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepValue {
    /// No value.
    #[default]
    None,
    /// The bytes, at most [`INLINE_OUTPUT_MAX`].
    Inline(Arc<str>),
    /// The bytes are stored elsewhere.
    Kept(Arc<LargeValueRef>),
}

impl StepOutput {
    /// No value and no files.
    pub const NONE: Self = Self::of(StepValue::None);

    /// Creates an output with this value and without files.
    pub const fn of(value: StepValue) -> Self {
        Self { value, artifacts: None }
    }

    /// Creates an output with this text as its value.
    pub fn inline(text: impl Into<Arc<str>>) -> Self {
        Self::of(StepValue::Inline(text.into()))
    }

    /// Creates an output whose value is stored elsewhere.
    pub fn kept(value: LargeValueRef) -> Self {
        Self::of(StepValue::Kept(Arc::new(value)))
    }

    /// Returns the bytes inside the outcome.
    pub fn len(&self) -> usize {
        let artifacts = self.artifacts.map_or(0, |_| ObjectId::BYTES);
        artifacts + self.value.len()
    }

    /// Returns whether there is neither a value nor a file.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether it is small enough for an outcome, or stored elsewhere.
    pub fn fits(&self) -> bool {
        match &self.value {
            StepValue::None | StepValue::Kept(_) => true,
            StepValue::Inline(text) => text.len() <= INLINE_OUTPUT_MAX,
        }
    }
}

impl StepValue {
    /// Returns the bytes inside the outcome.
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Inline(text) => text.len(),
            Self::Kept(kept) => kept.encoded_size(),
        }
    }
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub kind: OutcomeKind,
    /// The exit code of its process, if it had one.
    pub exit_code: Option<i32>,
    /// The output for dependents.
    pub output: StepOutput,
}

impl Outcome {
    /// Creates an outcome without exit code and output.
    pub const fn plain(kind: OutcomeKind) -> Self {
        Self { kind, exit_code: None, output: StepOutput::NONE }
    }

    /// Returns what dependents and readers of the step get: files always, the value only after a success. `None` if there
    /// is neither.
    pub fn passed_on(&self) -> Option<StepOutput> {
        let output = if self.kind == OutcomeKind::Succeeded {
            self.output.clone()
        } else {
            StepOutput { value: StepValue::None, artifacts: self.output.artifacts }
        };
        (output != StepOutput::NONE).then_some(output)
    }

    /// Creates the outcome of a process with this exit code.
    pub const fn exit(code: i32) -> Self {
        let kind = if code == 0 { OutcomeKind::Succeeded } else { OutcomeKind::Failed };
        Self { kind, exit_code: Some(code), output: StepOutput::NONE }
    }
}

/// The status of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Waits for needs, or for the end of a back-off.
    Waiting,
    /// Waits for a worker, a slot or a lock.
    Ready,
    /// A worker has a lease but has not reported the start.
    Leased,
    /// A worker has reported the start.
    Running,
    /// Succeeded.
    Succeeded,
    /// The last attempt failed, was lost once too often, or no worker could run the step in time.
    Failed,
    /// The last attempt exceeded its timeout.
    TimedOut,
    /// Ended by order.
    Cancelled,
    /// Not needed: its condition did not hold, or no worker can run it.
    Skipped,
    /// A need failed.
    Blocked,
    /// The outcome was taken from an earlier run.
    Cached,
}

word_set!(StepStatus {
    Waiting => "waiting",
    Ready => "ready",
    Leased => "leased",
    Running => "running",
    Succeeded => "succeeded",
    Failed => "failed",
    TimedOut => "timed_out",
    Cancelled => "cancelled",
    Skipped => "skipped",
    Blocked => "blocked",
    Cached => "cached",
});

impl StepStatus {
    /// Returns whether it is final; a final status never changes.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Waiting | Self::Ready | Self::Leased | Self::Running => false,
            Self::Succeeded
            | Self::Failed
            | Self::TimedOut
            | Self::Cancelled
            | Self::Skipped
            | Self::Blocked
            | Self::Cached => true,
        }
    }

    /// Returns whether a worker holds the step.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Leased | Self::Running)
    }

    /// Returns whether it prevents dependents from running.
    pub const fn fails_dependents(self) -> bool {
        matches!(self, Self::Failed | Self::TimedOut | Self::Cancelled | Self::Blocked)
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Steps are running or waiting.
    Running,
    /// The run was cancelled and waits for running steps.
    Cancelling,
    /// Every step that had to succeed succeeded.
    Succeeded,
    /// A step failed, or the run exceeded its deadline.
    Failed,
    /// The run was cancelled, or newer work superseded it.
    Cancelled,
    /// The process that the run belongs to has ended; the run waits to be resumed.
    Interrupted,
}

impl RunStatus {
    /// Returns whether it is final; a final status never changes.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled => true,
            Self::Running | Self::Cancelling | Self::Interrupted => false,
        }
    }

    /// Returns whether nothing happens in the run any more, unless it is resumed: it can be archived and sealed.
    pub const fn is_at_rest(self) -> bool {
        self.is_terminal() || matches!(self, Self::Interrupted)
    }
}

word_set!(RunStatus {
    Running => "running",
    Cancelling => "cancelling",
    Succeeded => "succeeded",
    Failed => "failed",
    Cancelled => "cancelled",
    Interrupted => "interrupted",
});

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
