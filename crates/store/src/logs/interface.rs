//! The interface of a log store.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::id::{RunId, StepIx};

use super::stream::LogStream;
use crate::db::{StoreError, StoreFuture};
use crate::journal::Position;

/// The name of a log: a stream of a delivery.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct LogId {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within that attempt, from 1.
    pub delivery: u16,
    /// The stream of that delivery.
    pub stream: LogStream,
}

impl LogId {
    /// Names the output of a delivery.
    pub const fn new(run: RunId, step: StepIx, attempt: u16, delivery: u16) -> Self {
        Self { run, step, attempt, delivery, stream: LogStream::Output }
    }
}

/// Bytes of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPart {
    /// The offset of the bytes, at most the end of the log.
    pub from: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The size of the whole log.
    pub size: u64,
}

/// Maximum bytes that one call reads.
pub const READ_MAX: usize = 1 << 20;

/// Stores the output of steps. It shares nothing with the journal, so that a flood of output delays no lease.
pub trait LogStore: Send + Sync + fmt::Debug {
    /// Adds bytes at `at`, the expected size of the log, and returns the new size. Bytes that the log has already are not
    /// written again, so a sender without an answer can resend. Bytes after a gap are refused with [`StoreError::Gap`],
    /// whose `head` is the size of the log. The append is not synced: a crash of the machine may take the end of a log. A
    /// [value](LogId::value) is synced, because a recorded outcome refers to it.
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64>;

    /// Ends a log. Returns when its readers can read all bytes, or when waiting longer would delay its step: at once for a
    /// store that readers use directly.
    fn close(&self, log: LogId) -> StoreFuture<'_, ()> {
        let _ = log;
        Box::pin(async { Ok(()) })
    }

    /// Ends a log whose end was lost. If possible, the store appends `line` to inform its readers.
    fn close_cut(&self, log: LogId, line: String) -> StoreFuture<'_, ()> {
        let _ = line;
        self.close(log)
    }

    /// The treatment of a step whose output finds no space.
    fn when_full(&self) -> LogFullPolicy {
        LogFullPolicy::Waits
    }

    /// Notes that a step waits for space, or no longer waits.
    fn note_wait(&self, wait: &LogSpaceWait<'_>) {
        let _ = wait;
    }

    /// Reads bytes of a range, at most [`READ_MAX`]; bytes beyond the end are left out. A missing log is empty.
    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart>;

    /// Returns the logs of a run, in order, with their sizes.
    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>>;

    /// Removes the logs of a run, if there are any.
    fn remove(&self, run: RunId) -> StoreFuture<'_, ()>;

    /// Returns the runs with logs, oldest first, with the total bytes of each, for retention.
    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>>;
}

/// The treatment of a step whose output finds no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFullPolicy {
    /// The step waits until there is space: all other decisions wait for the same disk.
    Waits,
    /// The step continues after a minute without its output, because the logs have a fixed limit.
    DropsOutput,
    /// The step fails after this duration.
    Fails(Duration),
}

/// A step that waits because its output finds no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpaceWait<'a> {
    /// The log.
    pub log: LogId,
    /// The name of the step.
    pub step: &'a str,
    /// The error that prevents writing its output; `None` once it was written.
    pub error: Option<&'a StoreError>,
    /// Maximum wait; without it, the step waits forever.
    pub at_most: Option<Duration>,
}

/// Returns the part of `bytes`, which begin at `at`, that is new to a log of this size. Every backend's append uses this
/// rule.
pub(super) fn new_bytes(size: u64, at: u64, bytes: &[u8]) -> Result<&[u8], StoreError> {
    let Some(known) = size.checked_sub(at) else {
        return Err(StoreError::Gap { after: Position(at), head: Position(size) });
    };
    Ok(usize::try_from(known).ok().and_then(|known| bytes.get(known..)).unwrap_or_default())
}
