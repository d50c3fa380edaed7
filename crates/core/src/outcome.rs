//! How attempts, steps and runs end.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::large_value::LargeValueRef;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OutcomeKind {
    /// It did what it should.
    Succeeded,
    /// Its command failed.
    Failed,
    /// It ran longer than its timeout and was stopped.
    TimedOut,
    /// It was stopped on order.
    Cancelled,
    /// Nobody knows: its worker is gone, or stopped it because it had lost contact.
    Lost,
    /// It was handed back without ever having started.
    Released,
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Released => "released",
        })
    }
}

/// The most bytes of output that travel with an outcome; larger ones are kept beside it.
pub const INLINE_OUTPUT_MAX: usize = 64 * 1024;

/// What a step hands to the steps that need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepOutput {
    /// Nothing.
    #[default]
    None,
    /// The bytes themselves, at most [`INLINE_OUTPUT_MAX`].
    Inline(Arc<str>),
    /// The bytes are in a store, under this hash.
    Digest {
        /// BLAKE3 of the bytes.
        hash: [u8; 32],
        /// How many there are.
        size: u64,
    },
    /// The bytes are kept elsewhere: this says where.
    Kept(Arc<LargeValueRef>),
}

impl StepOutput {
    /// Bytes that travel with it.
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Inline(text) => text.len(),
            Self::Digest { hash, .. } => hash.len(),
            Self::Kept(kept) => kept.encoded_size(),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is small enough to travel, or is kept elsewhere.
    pub fn fits(&self) -> bool {
        match self {
            Self::None | Self::Digest { .. } | Self::Kept(_) => true,
            Self::Inline(text) => text.len() <= INLINE_OUTPUT_MAX,
        }
    }
}

/// How an attempt ended, with what there is to tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub kind: OutcomeKind,
    /// The exit code of its process, if there was one.
    pub exit_code: Option<i32>,
    /// What it hands on.
    pub output: StepOutput,
}

impl Outcome {
    /// An outcome with nothing to tell but its kind.
    pub const fn plain(kind: OutcomeKind) -> Self {
        Self { kind, exit_code: None, output: StepOutput::None }
    }

    /// The end of a process with this exit code.
    pub const fn exit(code: i32) -> Self {
        let kind = if code == 0 { OutcomeKind::Succeeded } else { OutcomeKind::Failed };
        Self { kind, exit_code: Some(code), output: StepOutput::None }
    }
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// For needs, or for the end of a back-off.
    Waiting,
    /// For a worker, a slot or a lock.
    Ready,
    /// Handed to a worker that has not said that it started.
    Leased,
    /// Started on a worker.
    Running,
    /// Done.
    Succeeded,
    /// Its last attempt failed, was lost once too often, or nobody could run it in time.
    Failed,
    /// Its last attempt ran too long.
    TimedOut,
    /// Ended by order.
    Cancelled,
    /// Not needed: its condition said no, or nobody here can run it.
    Skipped,
    /// A need failed.
    Blocked,
    /// Taken from an earlier run.
    Cached,
}

impl StepStatus {
    /// All statuses, in the order of a step's life.
    pub const ALL: [Self; 11] = [
        Self::Waiting,
        Self::Ready,
        Self::Leased,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Skipped,
        Self::Blocked,
        Self::Cached,
    ];

    /// Whether it is an end; ends never change.
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

    /// Whether a worker holds it now.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Leased | Self::Running)
    }

    /// Whether it keeps steps that need it from running.
    pub const fn fails_dependents(self) -> bool {
        matches!(self, Self::Failed | Self::TimedOut | Self::Cancelled | Self::Blocked)
    }

    /// Its word in JSON, SQL and on screen.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::Blocked => "blocked",
            Self::Cached => "cached",
        }
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Steps are being run.
    Running,
    /// It was told to end and waits for what still runs.
    Cancelling,
    /// Every step that had to succeed did.
    Succeeded,
    /// A step failed, or its deadline passed.
    Failed,
    /// It was told to end, or newer work took its place.
    Cancelled,
}

impl RunStatus {
    /// Whether it is an end; ends never change.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}
