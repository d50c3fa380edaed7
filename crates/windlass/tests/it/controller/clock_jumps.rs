//! A clock that jumps ahead between two terms: archive and keys are not deleted because of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass::core::outcome::RunStatus;
use windlass::core::time::{Span, Time};
use windlass_controller::{MaintenanceDriver, RetentionSettings};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::archive::{Archive, MemoryArchive, SubmissionKeyClaim};
use windlass_store::conformance::FaultyJournal;
use windlass_store::journal::{MemoryJournal, SqliteJournal};
use windlass_store::logs::MemoryLogs;

use super::expiring_terms::ExpiringTermJournal;
use super::test_node::{TestJournal, TestNode, TestWorker, pass, plan, run, start};
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const START: u64 = 1_790_000_000_000;
const LEAP: Span = Span::hours(24 * 100);
const SEAL_AFTER: Span = Span::secs(60);

/// Keeps up with a node, which compares its time with the clock of this machine.
fn keep(
    node: &TestNode,
    journal: &Arc<TestJournal>,
    archive: &Arc<MemoryArchive>,
    (clock, store_has_own): (fn() -> Time, bool),
) -> ShutdownSender {
    let stores = (Arc::clone(archive) as _, Arc::new(MemoryLogs::new()) as _);
    let keeping = RetentionSettings { seal_after: SEAL_AFTER, ..RetentionSettings::default() };
    let journal = Arc::clone(journal) as _;
    let driver = MaintenanceDriver::new(node.handle.clone(), journal, stores, keeping);
    let (shutdown, ends) = ShutdownSender::new();
    tokio::spawn(driver.against(clock, store_has_own).run(ends));
    shutdown
}

/// Returns what remains of a run that was sealed, and of a key that was claimed, before the jump.
async fn left(archive: &MemoryArchive) -> (bool, usize) {
    let line = archive.run(run(1)).await.expect("it reads");
    (line.is_some(), archive.keys(None, 9).await.expect("it reads").len())
}

/// A node that leads a store whose clock has jumped since a run was sealed and a key was claimed.
async fn led_after_a_leap(
    clock: fn() -> Time,
    now: &AtomicU64,
    store_has_own: bool,
) -> (TestNode, Arc<MemoryArchive>, ShutdownSender) {
    let inner = ExpiringTermJournal::new(None, MemoryJournal::new(clock));
    let (journal, archive) = (Arc::new(FaultyJournal::new(Arc::new(inner))), MemoryArchive::new());
    let archive = Arc::new(archive);
    let node = start(&journal, "ann").await;
    let keeper = keep(&node, &journal, &archive, (clock, store_has_own));
    let mut mate = TestWorker::join(&node, 1).await;
    node.submit(run(1), &plan(["build"])).await;
    while node.run_status(run(1)) != Some(RunStatus::Succeeded) {
        mate.exchange(&node, 4).await;
        mate.finish_all();
        mate.exchange(&node, 0).await;
    }
    let at = Time::from_millis(START);
    let claim = SubmissionKeyClaim { key: "a".to_owned(), body: [7; 32], run: run(1), at };
    archive.claim(claim).await.expect("it is bound");
    pass(SEAL_AFTER + Span::secs(5)).await;
    assert_eq!(left(&archive).await, (true, 1));
    keeper.shut_down();
    node.shut_down().await.expect("it ends in good order");
    now.fetch_add(LEAP.as_millis(), Ordering::Relaxed);
    let node = start(&journal, "ben").await;
    node.led().await;
    let keeper = keep(&node, &journal, &archive, (clock, store_has_own));
    (node, archive, keeper)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_for_an_hour_of_leading_after_a_clock_jump() {
    static NOW: AtomicU64 = AtomicU64::new(START);
    // The clock of the machine has jumped with that of the store: they agree.
    let clock = || Time::from_millis(NOW.load(Ordering::Relaxed)) + Span::hours(2);
    let (node, archive, _keeper) = led_after_a_leap(clock, &NOW, false).await;
    let doubted =
        || node.handle.views().with(|view| view.engine.suspected_clock_jump(view.engine.now()));
    assert!(doubted().is_some_and(|(leapt, _)| leapt > Span::hours(24 * 99)), "{:?}", doubted());
    for _ in 0..5 {
        pass(Span::mins(10)).await;
        assert_eq!(left(&archive).await, (true, 1));
    }
    pass(Span::mins(11)).await;
    assert_eq!(left(&archive).await, (false, 0), "the hour is over");
}

#[tokio::test(start_paused = true)]
async fn agreeing_database_clock_confirms_a_clock_jump_at_once() {
    static NOW: AtomicU64 = AtomicU64::new(START);
    let clock = || Time::from_millis(NOW.load(Ordering::Relaxed)) + Span::hours(2);
    let (_node, archive, _keeper) = led_after_a_leap(clock, &NOW, true).await;
    pass(Span::secs(10)).await;
    assert_eq!(left(&archive).await, (false, 0));
}

/// The same, with the messages that an operator sees.
#[tokio::test]
async fn serve_reports_that_deletion_waits_after_a_clock_jump() {
    let project = ProjectFolder::with("");
    let long_ago = || Time::from_millis(1_600_000_000_000);
    let store = project.path().join(".windlass");
    let journal = Arc::new(SqliteJournal::open(&store, long_ago).expect("it opens"));
    let node = start(&journal, "ann").await;
    node.led().await;
    node.shut_down().await.expect("it ends in good order");
    drop(journal);
    let serve = project.start("serve --no-exec --listen 127.0.0.1:0 --no-token");
    let text = ["ahead of the last event of this store", "are deleted after 1h"];
    until("it says so", || text.iter().all(|word| serve.said().contains(word)));
}
