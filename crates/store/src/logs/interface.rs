//! What a store of logs must do, and what each call promises.

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
    /// Where in the log they begin; its end at most.
    pub from: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How long the log is now, all of it.
    pub size: u64,
}

/// The most bytes that one call reads.
pub const READ_MAX: usize = 1 << 20;

/// Keeps what steps print. It shares nothing with the journal: a flood of output must not delay a lease.
pub trait LogStore: Send + Sync + fmt::Debug {
    /// Adds bytes at `at`, which is how long the log was: what is there already is not written twice, so that a sender
    /// that heard no answer sends the same again. Bytes behind a hole are refused with
    /// [`StoreError::Gap`], whose `head` is how long the log is. Returns how long the log is now. Not synced: what a crash
    /// of the machine takes is the end of a log. A [value](LogId::value) is, since an outcome that is on record names it.
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64>;

    /// Says that nothing more comes for a log. Returns when what was written is where its readers look, or when waiting
    /// any longer would hold up its step: at once, for a store that readers look into.
    fn close(&self, log: LogId) -> StoreFuture<'_, ()> {
        let _ = log;
        Box::pin(async { Ok(()) })
    }

    /// The same for a log whose end could not be kept. `line` tells that to its readers, where that is possible.
    fn close_cut(&self, log: LogId, line: String) -> StoreFuture<'_, ()> {
        let _ = line;
        self.close(log)
    }

    /// What becomes of a step whose output finds no room.
    fn when_full(&self) -> LogFullPolicy {
        LogFullPolicy::Waits
    }

    /// Learns that a step waits for room, or does so no more.
    fn note_wait(&self, wait: &LogSpaceWait<'_>) {
        let _ = wait;
    }

    /// Bytes of a log from a range, at most [`READ_MAX`]; what is beyond its end is left out. A log that is not there is
    /// empty.
    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart>;

    /// The logs of a run, in order, with their sizes.
    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>>;

    /// Drops the logs of a run. That there are none is no error.
    fn remove(&self, run: RunId) -> StoreFuture<'_, ()>;

    /// Runs that have logs, oldest first, with the bytes that they take: what retention looks at.
    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>>;
}

/// What becomes of a step whose output finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFullPolicy {
    /// It waits until there is room: everything else that is decided has to wait for the same disk.
    Waits,
    /// It goes on after a minute, and what it prints is lost: the logs have a limit that they keep to.
    DropsOutput,
    /// It fails after so long.
    Fails(Duration),
}

/// A step that is held up because its output finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpaceWait<'a> {
    /// Which log.
    pub log: LogId,
    /// The name of the step.
    pub step: &'a str,
    /// Why its output cannot be written; nothing once it could be.
    pub error: Option<&'a StoreError>,
    /// How long it waits at most; for ever without.
    pub at_most: Option<Duration>,
}

/// What of `bytes`, which begin at `at`, is new to a log of this size: the rule of every backend's append.
pub(super) fn new_bytes(size: u64, at: u64, bytes: &[u8]) -> Result<&[u8], StoreError> {
    let Some(known) = size.checked_sub(at) else {
        return Err(StoreError::Gap { after: Position(at), head: Position(size) });
    };
    Ok(usize::try_from(known).ok().and_then(|known| bytes.get(known..)).unwrap_or_default())
}
