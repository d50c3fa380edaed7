//! Logs in memory: they end with their process, and the oldest are removed first.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::id::{RunId, StepIx};

use super::interface::{LogFullPolicy, LogId, LogPart, LogStore, READ_MAX, new_bytes};
use crate::db::{StoreError, StoreFuture};

/// Maximum bytes of all logs in memory: a laptop has them, and nothing needs more for runs that end with their process.
/// Beyond it the logs of the oldest run are removed.
pub const MEMORY_MAX: usize = 256 << 20;

/// Logs in memory, for runs that need not survive their process, and for tests.
#[derive(Debug)]
pub struct MemoryLogs {
    state: Mutex<MemoryLogsState>,
}

#[derive(Debug)]
struct MemoryLogsState {
    logs: BTreeMap<LogId, Vec<u8>>,
    bytes: usize,
    bytes_max: usize,
}

impl MemoryLogs {
    /// Creates an empty store of at most [`MEMORY_MAX`] bytes.
    pub fn new() -> Self {
        Self::with_capacity(MEMORY_MAX)
    }

    /// Creates an empty store of at most this number of bytes.
    pub fn with_capacity(bytes_max: usize) -> Self {
        let state = MemoryLogsState { logs: BTreeMap::new(), bytes: 0, bytes_max };
        Self { state: Mutex::new(state) }
    }

    /// Locks the state. A panic under the lock can at worst leave a wrong number of bytes.
    fn state(&self) -> MutexGuard<'_, MemoryLogsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryLogs {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryLogsState {
    fn append(&mut self, log: LogId, at: u64, bytes: &[u8]) -> Result<u64, StoreError> {
        let size = self.size(log);
        let new = new_bytes(size, at, bytes)?;
        if new.is_empty() {
            return Ok(size);
        }
        self.evict_oldest(log.run, new.len())?;
        self.bytes += new.len();
        self.logs.entry(log).or_default().extend_from_slice(new);
        Ok(self.size(log))
    }

    fn size(&self, log: LogId) -> u64 {
        self.logs.get(&log).map_or(0, |bytes| bytes.len() as u64)
    }

    /// Removes the logs of the oldest runs, but never of the writing run, whose next append would follow a gap.
    fn evict_oldest(&mut self, writes: RunId, more: usize) -> Result<(), StoreError> {
        while self.bytes.saturating_add(more) > self.bytes_max {
            let others = self.logs.keys().map(|log| log.run).find(|run| *run != writes);
            let oldest =
                others.ok_or_else(|| StoreError::Full { place: "in memory".to_owned() })?;
            self.remove(oldest);
        }
        Ok(())
    }

    fn remove(&mut self, run: RunId) {
        for (_, bytes) in self.logs.extract_if(all_of(run), |_, _| true) {
            self.bytes -= bytes.len();
        }
    }

    fn read(&self, log: LogId, range: Range<u64>) -> LogPart {
        let Some(bytes) = self.logs.get(&log) else { return LogPart::default() };
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let from = place(range.start);
        let to = place(range.end).min(from.saturating_add(READ_MAX)).max(from);
        let (size, from_byte) = (bytes.len() as u64, from as u64);
        LogPart { from: from_byte, bytes: bytes[from..to].to_vec(), size }
    }

    fn list(&self, run: RunId) -> Vec<(LogId, u64)> {
        let logs = self.logs.range(all_of(run));
        logs.map(|(log, bytes)| (*log, bytes.len() as u64)).collect()
    }

    fn runs(&self) -> Vec<(RunId, u64)> {
        let mut runs: BTreeMap<RunId, u64> = BTreeMap::new();
        for (log, bytes) in &self.logs {
            *runs.entry(log.run).or_default() += bytes.len() as u64;
        }
        runs.into_iter().collect()
    }
}

fn all_of(run: RunId) -> RangeInclusive<LogId> {
    let log = |step, number| LogId::new(run, StepIx(step), number, number);
    log(0, 0)..=log(u32::MAX, u16::MAX).value()
}

impl LogStore for MemoryLogs {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        Box::pin(async move { self.state().append(log, at, &bytes) })
    }

    fn when_full(&self) -> LogFullPolicy {
        LogFullPolicy::DropsOutput
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        Box::pin(async move { Ok(self.state().read(log, range)) })
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        Box::pin(async move { Ok(self.state().list(run)) })
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.state().remove(run);
            Ok(())
        })
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        Box::pin(async move { Ok(self.state().runs()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Position;

    fn log(run: u64, step: u32) -> LogId {
        LogId::new(RunId(run), StepIx(step), 1, 1)
    }

    #[test]
    fn oldest_run_is_evicted_first() {
        let mut state = MemoryLogsState { logs: BTreeMap::new(), bytes: 0, bytes_max: 10 };
        for (run, step) in [(1, 0), (1, 1), (2, 0)] {
            state.append(log(run, step), 0, b"abc").unwrap();
        }
        assert_eq!(state.append(log(3, 0), 0, b"de"), Ok(2));
        assert_eq!(state.runs(), [(RunId(2), 3), (RunId(3), 2)]);
        let gap = StoreError::Gap { after: Position(3), head: Position(0) };
        assert_eq!(state.append(log(1, 0), 3, b"def"), Err(gap), "its sender finds it removed");
        assert_eq!(state.append(log(2, 0), 3, b"defghij"), Ok(10), "a newer run is evicted too");
        assert_eq!(state.runs(), [(RunId(2), 10)]);
    }

    #[test]
    fn run_that_is_too_large_by_itself_is_refused() {
        let mut state = MemoryLogsState { logs: BTreeMap::new(), bytes: 0, bytes_max: 10 };
        state.append(log(1, 0), 0, b"0123456789").unwrap();
        let full = Err(StoreError::Full { place: "in memory".to_owned() });
        assert_eq!(state.append(log(1, 0), 10, b"a"), full);
        assert_eq!(state.append(log(1, 0), 9, b"9"), Ok(10), "a repeat needs no space");
        state.remove(RunId(1));
        assert_eq!((state.bytes, state.append(log(1, 0), 0, b"a")), (0, Ok(1)));
    }
}
