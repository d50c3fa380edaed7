//! Every archive of this crate keeps its promises, and the checks find one that does not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use windlass::conformance;
use windlass::core::id::RunId;
use windlass::core::outcome::RunStatus;
use windlass::core::time::Time;
#[cfg(feature = "sqlite")]
use windlass_store::archive::SqliteArchive;
use windlass_store::archive::{
    Archive, MemoryArchive, RunQuery, RunRecord, SealedRun, SubmissionKeyClaim,
    SubmissionKeyOutcome,
};
use windlass_store::conformance::{ARCHIVE_CHECKS, SharedStorage};
use windlass_store::db::StoreFuture;
use windlass_store::journal::{Position, RecordedEvent};

#[test]
fn memory_conforms() {
    conformance::check_archive("memory", || SharedStorage::archive(MemoryArchive::new()));
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_conforms() {
    conformance::check_archive("sqlite", sqlite);
}

/// A folder that is removed with the function that opens the archive in it.
#[cfg(feature = "sqlite")]
fn sqlite() -> impl Fn() -> Arc<dyn Archive> {
    // The storage is in memory where that is possible, so that thousands of commits need no disk.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder can be made");
    move || Arc::new(SqliteArchive::open(&folder).expect("the archive opens"))
}

/// The archive without a flaw must pass; otherwise the failures of the flawed ones prove nothing.
#[test]
fn an_archive_without_a_flaw_conforms() {
    conformance::check_archive("without a flaw", || flawed(None));
}

#[test]
fn each_flaw_is_found_by_its_check() {
    for flaw in ArchiveFlaw::ALL {
        let report = conformance::examine_archive("flawed", || flawed(Some(flaw)));
        let check = flaw.found_by();
        assert!(ARCHIVE_CHECKS.iter().any(|known| known.name == check), "there is no {check}");
        assert!(report.has_failed(check), "{flaw:?} was not found by {check}\n{report}");
    }
}

fn flawed(flaw: Option<ArchiveFlaw>) -> impl Fn() -> Arc<dyn Archive> {
    let storage: Arc<Mutex<FlawedArchiveStorage>> = Arc::default();
    move || Arc::new(FlawedArchive::open(&storage, flaw))
}

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArchiveFlaw {
    AnswersEveryClaimWithNew,
    ComparesKeysWithoutCase,
    CountsRunsInSignedNumbers,
    CutsLargeRuns,
    DropsKeysWithTheirRuns,
    ForgetsKeysOnReopening,
    ForgetsRunsOnReopening,
    IgnoresBodies,
    IgnoresSince,
    IgnoresStatus,
    InventsRuns,
    KeepsTheFirstOfTwo,
    KeepsTheLaterOfTwo,
    ListsTheNamedKeyAgain,
    ListsTheOldestFirst,
    LosesTimes,
    PrunesWhatEndedAtTheTime,
    PrunesWithoutABound,
    ReadsFromTheAskedPosition,
    RepeatsTheLastOfAPage,
    ReturnsAllThatThereIs,
}

impl ArchiveFlaw {
    const ALL: [Self; 21] = [
        Self::AnswersEveryClaimWithNew,
        Self::ComparesKeysWithoutCase,
        Self::CountsRunsInSignedNumbers,
        Self::CutsLargeRuns,
        Self::DropsKeysWithTheirRuns,
        Self::ForgetsKeysOnReopening,
        Self::ForgetsRunsOnReopening,
        Self::IgnoresBodies,
        Self::IgnoresSince,
        Self::IgnoresStatus,
        Self::InventsRuns,
        Self::KeepsTheFirstOfTwo,
        Self::KeepsTheLaterOfTwo,
        Self::ListsTheNamedKeyAgain,
        Self::ListsTheOldestFirst,
        Self::LosesTimes,
        Self::PrunesWhatEndedAtTheTime,
        Self::PrunesWithoutABound,
        Self::ReadsFromTheAskedPosition,
        Self::RepeatsTheLastOfAPage,
        Self::ReturnsAllThatThereIs,
    ];

    /// Returns the check that detects this flaw; other checks may fail too.
    const fn found_by(self) -> &'static str {
        match self {
            Self::AnswersEveryClaimWithNew => "submission_keys::of_claims_at_once_one_is_new",
            Self::ComparesKeysWithoutCase => "submission_keys::keys_are_told_apart_byte_by_byte",
            Self::CountsRunsInSignedNumbers | Self::ListsTheOldestFirst => {
                "archive::runs_are_listed_newest_first"
            }
            Self::CutsLargeRuns => "archive::a_large_run_is_read_in_pages",
            Self::DropsKeysWithTheirRuns => "submission_keys::a_key_outlives_its_run",
            Self::ForgetsKeysOnReopening => "submission_keys::reopened_they_are_known",
            Self::ForgetsRunsOnReopening => "archive::reopened_it_has_everything",
            Self::IgnoresBodies => "submission_keys::another_body_is_a_conflict",
            Self::IgnoresSince | Self::IgnoresStatus => {
                "archive::filters_let_through_what_they_say"
            }
            Self::InventsRuns => "archive::a_run_that_is_not_here_is_none",
            Self::KeepsTheFirstOfTwo => {
                "archive::a_longer_history_takes_the_place_of_a_shorter_one"
            }
            Self::KeepsTheLaterOfTwo => "archive::the_same_run_again_changes_nothing",
            Self::ListsTheNamedKeyAgain => "submission_keys::they_are_listed_in_pages",
            Self::LosesTimes => "archive::every_event_reads_as_it_was_written",
            Self::PrunesWhatEndedAtTheTime => "archive::what_ended_before_is_pruned",
            Self::PrunesWithoutABound => "archive::pruning_is_done_in_parts",
            Self::ReadsFromTheAskedPosition => "archive::events_are_paged_by_position",
            Self::RepeatsTheLastOfAPage => {
                "archive::pages_make_up_the_whole_while_runs_come_and_go"
            }
            Self::ReturnsAllThatThereIs => "archive::a_page_has_a_bound",
        }
    }
}

/// The content that all handles share, as a file would be.
#[derive(Debug, Default)]
struct FlawedArchiveStorage {
    runs: BTreeMap<RunId, SealedRun>,
    keys: BTreeMap<String, SubmissionKeyClaim>,
    handles: usize,
}

/// A handle.
#[derive(Debug)]
struct FlawedArchive {
    storage: Arc<Mutex<FlawedArchiveStorage>>,
    flaw: Option<ArchiveFlaw>,
}

impl FlawedArchive {
    fn open(storage: &Arc<Mutex<FlawedArchiveStorage>>, flaw: Option<ArchiveFlaw>) -> Self {
        let archive = Self { storage: Arc::clone(storage), flaw };
        let mut it = archive.locked();
        if it.handles == 0 && archive.has(ArchiveFlaw::ForgetsRunsOnReopening) {
            it.runs.clear();
        }
        if it.handles == 0 && archive.has(ArchiveFlaw::ForgetsKeysOnReopening) {
            it.keys.clear();
        }
        it.handles += 1;
        drop(it);
        archive
    }

    fn has(&self, flaw: ArchiveFlaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn locked(&self) -> MutexGuard<'_, FlawedArchiveStorage> {
        self.storage.lock().expect("nothing panics while it is held")
    }

    fn keep_now(&self, mut run: SealedRun) {
        if self.has(ArchiveFlaw::LosesTimes) {
            let undated = |it: Arc<RecordedEvent>| {
                let (position, event) = (it.position, it.event.clone());
                Arc::new(RecordedEvent { position, at: Time::ZERO, event })
            };
            run.events = run.events.iter().map(undated).collect();
        }
        if self.has(ArchiveFlaw::CutsLargeRuns) {
            run.events = run.events.iter().take(20_000).collect();
        }
        let mut it = self.locked();
        if self.has(ArchiveFlaw::KeepsTheLaterOfTwo) {
            it.runs.remove(&run.record.run);
        }
        let goes_further = |kept: &SealedRun| kept.events.last() < run.events.last();
        let extends = !self.has(ArchiveFlaw::KeepsTheFirstOfTwo);
        if it.runs.get(&run.record.run).is_none_or(|kept| extends && goes_further(kept)) {
            it.runs.insert(run.record.run, run);
        }
    }

    fn runs_now(&self, query: &RunQuery) -> Vec<RunRecord> {
        let it = self.locked();
        let older = |run: &RunRecord| match query.before {
            Some(before) if self.has(ArchiveFlaw::RepeatsTheLastOfAPage) => run.run <= before,
            Some(before) => run.run < before,
            None => true,
        };
        let selects = |run: &RunRecord| {
            let status = query.status.filter(|_| !self.has(ArchiveFlaw::IgnoresStatus));
            let since = query.since.filter(|_| !self.has(ArchiveFlaw::IgnoresSince));
            query.pipeline.as_ref().is_none_or(|pipeline| *pipeline == run.pipeline)
                && status.is_none_or(|status| status == run.status)
                && since.is_none_or(|since| run.submitted_at >= since)
        };
        let mut runs: Vec<RunRecord> = it.runs.values().map(|run| run.record.clone()).collect();
        runs.retain(|run| older(run) && selects(run));
        runs.sort_by_key(|run| std::cmp::Reverse(run.run));
        if self.has(ArchiveFlaw::ListsTheOldestFirst) {
            runs.reverse();
        }
        if self.has(ArchiveFlaw::CountsRunsInSignedNumbers) {
            runs.sort_by_key(|run| std::cmp::Reverse(run.run.0.cast_signed()));
        }
        let bound = if self.has(ArchiveFlaw::ReturnsAllThatThereIs) { usize::MAX } else { 1_000 };
        runs.truncate(query.most.min(bound));
        runs
    }

    fn events_now(&self, run: RunId, after: Position, most: usize) -> Vec<Arc<RecordedEvent>> {
        let it = self.locked();
        let Some(kept) = it.runs.get(&run) else { return Vec::new() };
        let inclusive = self.has(ArchiveFlaw::ReadsFromTheAskedPosition);
        let behind = |position: Position| position > after || inclusive && position == after;
        kept.events.iter().filter(|recorded| behind(recorded.position)).take(most).collect()
    }

    fn claim_now(&self, mut claim: SubmissionKeyClaim) -> SubmissionKeyOutcome {
        if self.has(ArchiveFlaw::ComparesKeysWithoutCase) {
            claim.key.make_ascii_lowercase();
        }
        let mut it = self.locked();
        match it.keys.get(&claim.key) {
            Some(_) if self.has(ArchiveFlaw::AnswersEveryClaimWithNew) => SubmissionKeyOutcome::New,
            Some(known) if known.body == claim.body || self.has(ArchiveFlaw::IgnoresBodies) => {
                SubmissionKeyOutcome::Known(known.run)
            }
            Some(known) => SubmissionKeyOutcome::Conflict(known.run),
            None => {
                it.keys.insert(claim.key.clone(), claim);
                SubmissionKeyOutcome::New
            }
        }
    }

    fn prune_now(&self, runs: Time, keys: Time) -> Vec<RunId> {
        let mut it = self.locked();
        let bound = if self.has(ArchiveFlaw::PrunesWithoutABound) { usize::MAX } else { 1_000 };
        let inclusive = self.has(ArchiveFlaw::PrunesWhatEndedAtTheTime);
        let ended = |at: Time| at < runs || inclusive && at == runs;
        let lines = it.runs.values().map(|run| &run.record);
        let dropped = lines.filter(|run| ended(run.ended_at)).map(|run| run.run);
        let dropped: Vec<RunId> = dropped.take(bound).collect();
        it.runs.retain(|run, _| !dropped.contains(run));
        let with_runs = self.has(ArchiveFlaw::DropsKeysWithTheirRuns);
        it.keys.retain(|_, claim| claim.at >= keys && !(with_runs && dropped.contains(&claim.run)));
        dropped
    }

    /// The record of a run that does not exist.
    fn invented(&self, run: RunId) -> Option<RunRecord> {
        let (submitted_at, ended_at) = (Time::ZERO, Time::ZERO);
        let (pipeline, status) = (String::new(), RunStatus::Failed);
        self.has(ArchiveFlaw::InventsRuns).then_some(RunRecord {
            run,
            pipeline,
            status,
            submitted_at,
            ended_at,
            steps: 0,
            workers: Vec::new(),
        })
    }
}

impl Drop for FlawedArchive {
    fn drop(&mut self) {
        self.locked().handles -= 1;
    }
}

impl Archive for FlawedArchive {
    fn keep(&self, run: SealedRun) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.keep_now(run);
            Ok(())
        })
    }

    fn run(&self, run: RunId) -> StoreFuture<'_, Option<RunRecord>> {
        Box::pin(async move {
            let found = self.locked().runs.get(&run).map(|run| run.record.clone());
            Ok(found.or_else(|| self.invented(run)))
        })
    }

    fn runs(&self, query: RunQuery) -> StoreFuture<'_, Vec<RunRecord>> {
        Box::pin(async move { Ok(self.runs_now(&query)) })
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> StoreFuture<'_, Vec<Arc<RecordedEvent>>> {
        Box::pin(async move { Ok(self.events_now(run, after, most)) })
    }

    fn claim(&self, claim: SubmissionKeyClaim) -> StoreFuture<'_, SubmissionKeyOutcome> {
        if claim.key.len() > 256 {
            let (place, reason) = ("here".to_owned(), "a long key".to_owned());
            return Box::pin(async {
                Err(windlass_store::db::StoreError::Unusable { place, reason })
            });
        }
        Box::pin(async move { Ok(self.claim_now(claim)) })
    }

    fn keys(&self, after: Option<String>, most: usize) -> StoreFuture<'_, Vec<SubmissionKeyClaim>> {
        let again = self.has(ArchiveFlaw::ListsTheNamedKeyAgain);
        let behind = |key: &str| after.as_deref().is_none_or(|it| key > it || again && key == it);
        let mut keys: Vec<SubmissionKeyClaim> = self.locked().keys.values().cloned().collect();
        keys.sort_by(|one, other| one.key.cmp(&other.key));
        keys.retain(|claim| behind(&claim.key));
        keys.truncate(most);
        Box::pin(async move { Ok(keys) })
    }

    fn prune(&self, runs: Time, keys: Time) -> StoreFuture<'_, Vec<RunId>> {
        Box::pin(async move { Ok(self.prune_now(runs, keys)) })
    }
}
