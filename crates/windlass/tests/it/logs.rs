//! Every store of logs of this crate keeps its promises, and the checks find one that does not.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use windlass::conformance;
use windlass::core::id::RunId;
use windlass_store::conformance::{LOG_CHECKS, SharedStorage};
use windlass_store::db::{StoreError, StoreFuture};
use windlass_store::journal::Position;
#[cfg(feature = "sqlite")]
use windlass_store::logs::FileLogs;
use windlass_store::logs::{LogId, LogPart, LogStore, MemoryLogs, READ_MAX};

#[test]
fn memory_conforms() {
    conformance::check_logs("memory", || SharedStorage::logs(MemoryLogs::new()));
}

#[cfg(feature = "sqlite")]
#[test]
fn files_conform() {
    conformance::check_logs("files", files);
}

/// A folder that is removed with the function that opens the logs in it.
#[cfg(feature = "sqlite")]
fn files() -> impl Fn() -> Arc<dyn LogStore> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    move || Arc::new(FileLogs::open(&folder).expect("the logs open"))
}

/// The log store without a flaw must pass; otherwise the failures of the flawed ones prove nothing.
#[test]
fn a_store_without_a_flaw_conforms() {
    conformance::check_logs("without a flaw", || flawed(None));
}

#[test]
fn each_flaw_is_found_by_its_check() {
    for flaw in LogFlaw::ALL {
        let report = conformance::examine_logs("flawed", || flawed(Some(flaw)));
        let check = flaw.found_by();
        assert!(LOG_CHECKS.iter().any(|known| known.name == check), "there is no {check}");
        assert!(report.has_failed(check), "{flaw:?} was not found by {check}\n{report}");
    }
}

#[test]
fn a_failure_names_the_store_the_backend_and_the_check() {
    let report = conformance::examine_logs("leaky", || flawed(Some(LogFlaw::WritesRepeats)));
    let text = report.to_string();
    assert!(text.starts_with("logs `leaky`: "), "{text}");
    assert!(text.contains("leaky: logs::a_repeat_is_not_written_twice: the repeat"), "{text}");
}

fn flawed(flaw: Option<LogFlaw>) -> impl Fn() -> Arc<dyn LogStore> {
    let storage: Arc<Mutex<FlawedLogStorage>> = Arc::default();
    move || Arc::new(FlawedLogStore::open(&storage, flaw))
}

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogFlaw {
    BeginsWithNothing,
    FillsHoles,
    ForgetsOnReopening,
    KeepsTextOnly,
    LosesOverlaps,
    ListsByName,
    ReadsAllAtOnce,
    ReadsBeyondTheRange,
    RemovesEverything,
    RemovesNothing,
    TellsTheNewestRunFirst,
    WritesRepeats,
}

impl LogFlaw {
    const ALL: [Self; 12] = [
        Self::BeginsWithNothing,
        Self::FillsHoles,
        Self::ForgetsOnReopening,
        Self::KeepsTextOnly,
        Self::LosesOverlaps,
        Self::ListsByName,
        Self::ReadsAllAtOnce,
        Self::ReadsBeyondTheRange,
        Self::RemovesEverything,
        Self::RemovesNothing,
        Self::TellsTheNewestRunFirst,
        Self::WritesRepeats,
    ];

    /// Returns the check that detects this flaw; other checks may fail too.
    const fn found_by(self) -> &'static str {
        match self {
            Self::BeginsWithNothing => "logs::nothing_is_appended_without_effect",
            Self::FillsHoles => "logs::a_hole_is_refused",
            Self::ForgetsOnReopening => "log_lists::reopened_they_go_on",
            Self::KeepsTextOnly => "logs::any_byte_survives",
            Self::LosesOverlaps => "logs::an_overlap_adds_what_is_new",
            Self::ListsByName => "log_lists::logs_are_listed_in_order",
            Self::ReadsAllAtOnce => "logs::a_read_has_a_bound",
            Self::ReadsBeyondTheRange => "logs::ranges_end_where_the_log_ends",
            Self::RemovesEverything => "log_lists::removing_touches_no_other_run",
            Self::RemovesNothing => "log_lists::a_removed_log_is_gone_and_can_begin_again",
            Self::TellsTheNewestRunFirst => "log_lists::runs_are_told_with_their_bytes",
            Self::WritesRepeats => "logs::a_repeat_is_not_written_twice",
        }
    }
}

/// The content that all handles share, as a folder would be.
#[derive(Debug, Default)]
struct FlawedLogStorage {
    logs: BTreeMap<LogId, Vec<u8>>,
    handles: usize,
}

/// A handle.
#[derive(Debug)]
struct FlawedLogStore {
    storage: Arc<Mutex<FlawedLogStorage>>,
    flaw: Option<LogFlaw>,
}

impl FlawedLogStore {
    fn open(storage: &Arc<Mutex<FlawedLogStorage>>, flaw: Option<LogFlaw>) -> Self {
        let logs = Self { storage: Arc::clone(storage), flaw };
        let mut it = logs.locked();
        if it.handles == 0 && logs.has(LogFlaw::ForgetsOnReopening) {
            it.logs.clear();
        }
        it.handles += 1;
        drop(it);
        logs
    }

    fn has(&self, flaw: LogFlaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn locked(&self) -> MutexGuard<'_, FlawedLogStorage> {
        self.storage.lock().expect("nothing panics while it is held")
    }

    fn append_now(&self, log: LogId, at: u64, bytes: &[u8]) -> Result<u64, StoreError> {
        let mut it = self.locked();
        let size = it.logs.get(&log).map_or(0, Vec::len);
        let mut place = usize::try_from(at).unwrap_or(usize::MAX);
        if place > size && !self.has(LogFlaw::FillsHoles) {
            return Err(StoreError::Gap { after: Position(at), head: Position(size as u64) });
        }
        place = place.min(size);
        let mut new = bytes.get(size - place..).unwrap_or_default();
        if self.has(LogFlaw::WritesRepeats) {
            new = bytes;
        }
        if self.has(LogFlaw::LosesOverlaps) && place < size {
            new = &[];
        }
        if !new.is_empty() || self.has(LogFlaw::BeginsWithNothing) {
            let text = self.has(LogFlaw::KeepsTextOnly).then(|| String::from_utf8_lossy(new));
            let kept = text.as_ref().map_or(new, |text| text.as_bytes());
            it.logs.entry(log).or_default().extend_from_slice(kept);
        }
        Ok(it.logs.get(&log).map_or(0, |log| log.len() as u64))
    }

    fn read_now(&self, log: LogId, range: &Range<u64>) -> LogPart {
        let it = self.locked();
        let Some(bytes) = it.logs.get(&log) else { return LogPart::default() };
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let (from, mut to) = (place(range.start), place(range.end));
        if self.has(LogFlaw::ReadsBeyondTheRange) {
            to = bytes.len();
        }
        if !self.has(LogFlaw::ReadsAllAtOnce) {
            to = to.min(from + READ_MAX);
        }
        let part = bytes.get(from..to).unwrap_or_default().to_vec();
        LogPart { from: from as u64, bytes: part, size: bytes.len() as u64 }
    }

    fn list_now(&self, run: RunId) -> Vec<(LogId, u64)> {
        let it = self.locked();
        let of_run = it.logs.iter().filter(|(log, _)| log.run == run);
        let mut logs: Vec<_> = of_run.map(|(log, bytes)| (*log, bytes.len() as u64)).collect();
        if self.has(LogFlaw::ListsByName) {
            logs.sort_by_key(|(log, _)| format!("{}.{}.{}", log.step.0, log.attempt, log.delivery));
        }
        logs
    }

    fn remove_now(&self, run: RunId) {
        let (all, none) = (self.has(LogFlaw::RemovesEverything), self.has(LogFlaw::RemovesNothing));
        self.locked().logs.retain(|log, _| none || !(all || log.run == run));
    }

    fn runs_now(&self) -> Vec<(RunId, u64)> {
        let mut runs: BTreeMap<RunId, u64> = BTreeMap::new();
        for (log, bytes) in &self.locked().logs {
            *runs.entry(log.run).or_default() += bytes.len() as u64;
        }
        let mut runs: Vec<_> = runs.into_iter().collect();
        if self.has(LogFlaw::TellsTheNewestRunFirst) {
            runs.reverse();
        }
        runs
    }
}

impl Drop for FlawedLogStore {
    fn drop(&mut self) {
        self.locked().handles -= 1;
    }
}

impl LogStore for FlawedLogStore {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        Box::pin(async move { self.append_now(log, at, &bytes) })
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        Box::pin(async move { Ok(self.read_now(log, &range)) })
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        Box::pin(async move { Ok(self.list_now(run)) })
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.remove_now(run);
            Ok(())
        })
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        Box::pin(async move { Ok(self.runs_now()) })
    }
}
