//! Maintenance by the leader, and restarts from what it kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;
use windlass::core::engine::Event;
use windlass::core::id::RunId;
use windlass::core::outcome::RunStatus;
use windlass::core::plan::Plan;
use windlass::core::session::OutcomeVerdict;
use windlass::core::summary::RunSummary;
use windlass::core::time::{Span, Time};
use windlass_controller::{ControllerNode, MaintenanceDriver, NodeError, RetentionSettings};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::archive::{
    Archive, MemoryArchive, RunQuery, RunRecord, SealedRun, SubmissionKeyClaim,
    SubmissionKeyOutcome,
};
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};
use windlass_store::db::{StoreError, StoreFuture};
use windlass_store::journal::{Journal, JournalSnapshot, Position, RecordedEvent};
use windlass_store::logs::MemoryLogs;

use super::test_node::{
    TestJournal, TestNode, TestWorker, config, everything, folded, journal, pass, plan, run, start,
};

const SEAL_AFTER: Span = Span::secs(60);

struct MaintenanceTask {
    shutdown: ShutdownSender,
    keeping: JoinHandle<Result<(), StoreError>>,
}

/// The maintenance of a node, which writes a snapshot after few events.
fn keep(
    node: &TestNode,
    journal: &Arc<TestJournal>,
    archive: &Arc<MemoryArchive>,
    snapshot_after: u64,
) -> MaintenanceTask {
    let keeping = RetentionSettings {
        seal_after: SEAL_AFTER,
        snapshot_after,
        ..RetentionSettings::default()
    };
    keep_so(node, journal, archive, keeping)
}

fn keep_so(
    node: &TestNode,
    journal: &Arc<TestJournal>,
    archive: &Arc<MemoryArchive>,
    keeping: RetentionSettings,
) -> MaintenanceTask {
    let stores = (Arc::clone(archive) as _, Arc::new(MemoryLogs::new()) as _);
    let driver =
        MaintenanceDriver::new(node.handle.clone(), Arc::clone(journal) as _, stores, keeping);
    let (shutdown, listener) = ShutdownSender::new();
    MaintenanceTask { shutdown, keeping: tokio::spawn(driver.run(listener)) }
}

impl MaintenanceTask {
    async fn ends(self) -> Result<(), StoreError> {
        self.shutdown.shut_down();
        self.keeping.await.expect("it does not panic")
    }
}

/// Runs a pipeline from its submission to its end.
async fn ship(node: &TestNode, mate: &mut TestWorker, n: u64, plan: &Arc<Plan>) {
    node.submit(run(n), plan).await;
    while node.run_status(run(n)) != Some(RunStatus::Succeeded) {
        mate.exchange(node, 4).await;
        mate.finish_all();
        mate.exchange(node, 0).await;
    }
}

/// Returns the events of a run in the journal, up to its sealing.
async fn history(journal: &TestJournal, n: u64) -> Vec<Arc<RecordedEvent>> {
    let of_run = |recorded: &RecordedEvent| recorded.event.run() == Some(run(n));
    let sealing = |recorded: &RecordedEvent| matches!(recorded.event, Event::RunSealed(_));
    let events = everything(journal).await.into_iter();
    events.filter(|recorded| of_run(recorded) && !sealing(recorded)).collect()
}

#[tokio::test(start_paused = true)]
async fn run_is_sealed_after_a_delay_and_completely_archived() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build", "test", "ship"]);
    let node = start(&journal, "ann").await;
    let keeper = keep(&node, &journal, &archive, u64::MAX);
    let mut mate = TestWorker::join(&node, 1).await;
    ship(&node, &mut mate, 1, &plan).await;
    pass(SEAL_AFTER.saturating_sub(Span::secs(2))).await;
    assert_eq!(archive.run(run(1)).await, Ok(None));
    assert_eq!(node.run_status(run(1)), Some(RunStatus::Succeeded));
    pass(Span::secs(5)).await;
    assert_eq!(node.run_status(run(1)), None, "also when nothing else happens meanwhile");
    let record = archive.run(run(1)).await.expect("it reads").expect("it is there");
    assert_eq!((record.status, record.steps, &*record.pipeline), (RunStatus::Succeeded, 3, "ship"));
    let events = archive.events(run(1), Position(0), usize::MAX).await;
    assert_eq!(events, Ok(history(&journal, 1).await));
    assert_eq!(keeper.ends().await, Ok(()));
}

/// An archive on a disk that is full for a while.
#[derive(Debug, Default)]
struct FullArchive {
    inner: MemoryArchive,
    is_full: AtomicBool,
}

impl Archive for FullArchive {
    fn keep(&self, run: SealedRun) -> StoreFuture<'_, ()> {
        if self.is_full.load(Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::Full { place: "archive".to_owned() }) });
        }
        self.inner.keep(run)
    }

    fn run(&self, run: RunId) -> StoreFuture<'_, Option<RunRecord>> {
        self.inner.run(run)
    }

    fn runs(&self, query: RunQuery) -> StoreFuture<'_, Vec<RunRecord>> {
        self.inner.runs(query)
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> StoreFuture<'_, Vec<Arc<RecordedEvent>>> {
        self.inner.events(run, after, most)
    }

    fn claim(&self, claim: SubmissionKeyClaim) -> StoreFuture<'_, SubmissionKeyOutcome> {
        self.inner.claim(claim)
    }

    fn keys(&self, after: Option<String>, most: usize) -> StoreFuture<'_, Vec<SubmissionKeyClaim>> {
        self.inner.keys(after, most)
    }

    fn prune(&self, runs: Time, keys: Time) -> StoreFuture<'_, Vec<RunId>> {
        self.inner.prune(runs, keys)
    }
}

#[tokio::test(start_paused = true)]
async fn full_archive_is_reported_until_it_accepts_runs() {
    let (journal, archive) = (journal(), Arc::new(FullArchive::default()));
    let node = start(&journal, "ann").await;
    let stores = (Arc::clone(&archive) as _, Arc::new(MemoryLogs::new()) as _);
    let keeping = RetentionSettings { seal_after: SEAL_AFTER, ..RetentionSettings::default() };
    let driver =
        MaintenanceDriver::new(node.handle.clone(), Arc::clone(&journal) as _, stores, keeping);
    let histories = Arc::clone(driver.histories());
    let (_shutdown, listener) = ShutdownSender::new();
    tokio::spawn(driver.run(listener));
    let mut mate = TestWorker::join(&node, 1).await;
    ship(&node, &mut mate, 1, &plan(["build"])).await;
    archive.is_full.store(true, Ordering::Relaxed);
    pass(SEAL_AFTER + Span::secs(5)).await;
    assert!(matches!(histories.archive_failure(), Some(StoreError::Full { .. })));
    assert_eq!(node.run_status(run(1)), Some(RunStatus::Succeeded), "it is not sealed");
    archive.is_full.store(false, Ordering::Relaxed);
    pass(SEAL_AFTER).await;
    assert_eq!(histories.archive_failure(), None);
    assert_eq!(node.run_status(run(1)), None);
}

#[tokio::test(start_paused = true)]
async fn oldest_runs_are_sealed_early_if_many_steps_have_ended() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build", "test"]);
    let node = start(&journal, "ann").await;
    let keeping = RetentionSettings {
        seal_after: SEAL_AFTER,
        ended_steps: 5,
        ..RetentionSettings::default()
    };
    let keeper = keep_so(&node, &journal, &archive, keeping);
    let mut mate = TestWorker::join(&node, 1).await;
    for n in 1..=4 {
        ship(&node, &mut mate, n, &plan).await;
    }
    pass(keeping.seal_early.saturating_sub(Span::secs(2))).await;
    assert_eq!(archive.run(run(1)).await, Ok(None), "who reports late still finds it");
    pass(Span::secs(5)).await;
    let sealed = [1, 2, 3, 4].map(|n| node.run_status(run(n)).is_none());
    assert_eq!(sealed, [true, true, false, false], "as many as are too many");
    pass(SEAL_AFTER).await;
    assert_eq!(node.run_status(run(4)), None);
    assert_eq!(keeper.ends().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn many_small_runs_are_sealed_in_two_passes() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build"]);
    let node = start(&journal, "ann").await;
    let keeper = keep(&node, &journal, &archive, u64::MAX);
    let mut mate = TestWorker::join(&node, 1).await;
    let last = 300;
    for n in 1..=last {
        ship(&node, &mut mate, n, &plan).await;
    }
    pass(SEAL_AFTER + Span::secs(2)).await;
    assert_eq!(node.run_status(run(last)), None, "two looks are enough");
    assert_eq!(keeper.ends().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_sealed_run_remembers_that_it_was_interrupted() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build", "ship"]);
    let ann = start(&journal, "ann").await;
    ann.submit(run(1), &plan).await;
    ann.crash(&*journal).await;
    let ben = start(&journal, "ben").await;
    let keeper = keep(&ben, &journal, &archive, u64::MAX);
    let mut mate = TestWorker::join(&ben, 1).await;
    ship(&ben, &mut mate, 2, &plan).await;
    pass(SEAL_AFTER + Span::secs(5)).await;
    let interruptions = async |n: u64| {
        let events = archive.events(run(n), Position(0), usize::MAX).await.expect("it reads");
        let first = &events[0];
        let mut summary = RunSummary::from_submitted(first.at, &first.event).expect("it begins so");
        events[1..].iter().for_each(|recorded| summary.apply_event(recorded.at, &recorded.event));
        assert_eq!(summary.status(), RunStatus::Succeeded);
        summary.interruptions()
    };
    assert_eq!((interruptions(1).await, interruptions(2).await), (1, 0));
    assert_eq!(keeper.ends().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_late_outcome_for_a_sealed_run_is_stale() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build"]);
    let node = start(&journal, "ann").await;
    let _keeper = keep(&node, &journal, &archive, u64::MAX);
    let (mut silent, mut mate) =
        (TestWorker::join(&node, 1).await, TestWorker::join(&node, 2).await);
    node.submit(run(1), &plan).await;
    silent.exchange(&node, 1).await;
    while mate.held.is_empty() {
        mate.exchange(&node, 1).await;
    }
    mate.finish_all();
    mate.exchange(&node, 0).await;
    pass(SEAL_AFTER.times(2)).await;
    assert_eq!(node.run_status(run(1)), None);
    silent.finish_all();
    silent.exchange(&node, 0).await;
    assert_eq!(silent.verdicts, [OutcomeVerdict::Stale]);
    let record = archive.run(run(1)).await.expect("it reads").expect("it is there");
    assert_eq!(record.status, RunStatus::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn crash_between_archive_and_sealing_is_repeated_idempotently() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build"]);
    let ann = start(&journal, "ann").await;
    let keeper = keep(&ann, &journal, &archive, u64::MAX);
    let mut mate = TestWorker::join(&ann, 1).await;
    ship(&ann, &mut mate, 1, &plan).await;
    pass(Span::secs(30)).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    gate.reached().await;
    let kept = archive.events(run(1), Position(0), usize::MAX).await;
    assert!(kept.as_ref().is_ok_and(|kept| !kept.is_empty()), "archived, and not sealed");
    ann.crash(&*journal).await;
    assert_eq!(keeper.ends().await, Ok(()));
    let bob = start(&journal, "bob").await;
    assert_eq!(bob.run_status(run(1)), Some(RunStatus::Succeeded));
    let _keeper = keep(&bob, &journal, &archive, u64::MAX);
    pass(SEAL_AFTER.times(2)).await;
    assert_eq!(bob.run_status(run(1)), None);
    assert_eq!(archive.events(run(1), Position(0), usize::MAX).await, kept);
}

#[tokio::test(start_paused = true)]
async fn a_start_from_a_snapshot_and_what_came_behind_it_equals_a_fold_of_everything() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build", "test"]);
    let ann = start(&journal, "ann").await;
    let keeper = keep(&ann, &journal, &archive, 10);
    let mut mate = TestWorker::join(&ann, 1).await;
    for n in 1..=5 {
        ship(&ann, &mut mate, n, &plan).await;
    }
    pass(Span::secs(2)).await;
    assert_eq!(keeper.ends().await, Ok(()));
    let saved = journal.snapshot().await.expect("it reads").expect("there is one").position;
    ship(&ann, &mut mate, 6, &plan).await;
    ann.submit(run(7), &plan).await;
    mate.exchange(&ann, 4).await;
    assert!(saved.0 > 10 && saved.0 < ann.position());
    ann.crash(&*journal).await;
    let bob = start(&journal, "bob").await;
    bob.led().await;
    assert_eq!(bob.details(), folded(&*journal).await);
    mate.exchange(&bob, 0).await;
    mate.finish_all();
    mate.exchange(&bob, 0).await;
    assert_eq!(bob.run_status(run(7)), Some(RunStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn archived_events_behind_a_snapshot_are_pruned_and_not_needed_at_a_start() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build"]);
    let ann = start(&journal, "ann").await;
    let bob = start(&journal, "bob").await;
    let keeper = keep(&ann, &journal, &archive, 10);
    let mut mate = TestWorker::join(&ann, 1).await;
    ann.submit(run(99), &plan).await;
    mate.exchange(&ann, 1).await;
    mate.finish_all();
    for n in 1..=20 {
        ship(&ann, &mut mate, n, &plan).await;
        pass(Span::secs(4)).await;
    }
    pass(SEAL_AFTER.times(2)).await;
    ship(&ann, &mut mate, 21, &plan).await;
    pass(Span::secs(2)).await;
    let gone = journal.tail(Position(0), 1).await;
    assert!(matches!(gone, Err(StoreError::Pruned { .. })), "{gone:?}");
    assert_eq!(keeper.ends().await, Ok(()));
    let (before, runs) = (ann.details(), ann.handle.views().with(|view| view.engine.counts().runs));
    assert_eq!(runs, 1, "the last one is not sealed yet");
    ann.crash(&*journal).await;
    pass(Span::secs(1)).await;
    assert!(bob.leads());
    let carl = start(&journal, "carl").await;
    assert_eq!(carl.details(), bob.details());
    assert_ne!(before, String::new());
    let _keeper = keep(&bob, &journal, &archive, 10);
    pass(SEAL_AFTER.times(2)).await;
    assert_eq!(bob.run_status(run(21)), None, "the next leader seals what is left");
    assert_eq!(archive.run(run(21)).await.map(|run| run.is_some()), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn maintenance_survives_a_journal_that_does_not_answer() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build"]);
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    ship(&node, &mut mate, 1, &plan).await;
    for call in [JournalCall::Snapshot, JournalCall::Save, JournalCall::Prune] {
        journal.plan(call, JournalFault::Unsent);
        journal.plan(call, JournalFault::Full);
    }
    let keeper = keep(&node, &journal, &archive, 2);
    pass(SEAL_AFTER.times(2)).await;
    assert_eq!(node.run_status(run(1)), None);
    assert!(journal.snapshot().await.expect("it reads").is_some());
    assert_eq!(keeper.ends().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn node_that_was_long_disconnected_drops_runs_that_others_sealed() {
    let (journal, archive) = (journal(), Arc::new(MemoryArchive::new()));
    let plan = plan(["build"]);
    let (ann, bob) = (start(&journal, "ann").await, start(&journal, "bob").await);
    let _anns = keep(&ann, &journal, &archive, 10);
    let _bobs = keep(&bob, &journal, &archive, 10);
    let mut mate = TestWorker::join(&ann, 1).await;
    ship(&ann, &mut mate, 1, &plan).await;
    pass(Span::secs(1)).await;
    assert_eq!(bob.run_status(run(1)), Some(RunStatus::Succeeded));
    // The standby polls four times per second.
    (0..600).for_each(|_| journal.plan(JournalCall::Tail, JournalFault::Unsent));
    for n in 2..=20 {
        ship(&ann, &mut mate, n, &plan).await;
        pass(Span::secs(5)).await;
    }
    pass(SEAL_AFTER.times(3)).await;
    assert_eq!(bob.details(), ann.details(), "it has begun anew from a snapshot");
    ann.crash(&*journal).await;
    pass(Span::secs(2)).await;
    let mut mate = TestWorker::join(&bob, 2).await;
    for n in 21..=40 {
        ship(&bob, &mut mate, n, &plan).await;
        pass(Span::secs(5)).await;
    }
    pass(SEAL_AFTER.times(3)).await;
    let gone = journal.tail(Position(0), 1).await;
    let Err(StoreError::Pruned { upto }) = gone else { panic!("{gone:?}") };
    let head = bob.position();
    assert!(upto.0 + 40 > head, "pruned up to {upto} of {head}");
}

#[tokio::test(start_paused = true)]
async fn journal_with_unreadable_snapshots_is_refused() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    for n in 1..=5 {
        ann.submit(run(n), &plan).await;
    }
    for stored in journal.tail(Position(3), 2).await.expect("it reads") {
        let (position, batch) = (stored.position(), stored.id);
        let state = b"of a version that nobody knows any more".to_vec();
        journal.save(JournalSnapshot { position, batch, state }).await.expect("it saves");
    }
    assert_eq!(journal.prune(Position(3)).await, Ok(Position(3)));
    let opened = ControllerNode::open(Arc::clone(&journal) as _, config("bob")).await;
    assert_eq!(opened.err(), Some(NodeError::NoSnapshot { upto: Position(3) }));
}
