//! Every journal of this crate keeps its promises, and the checks find one that does not.

use std::sync::Arc;

use windlass::conformance;
use windlass::core::time::Time;
use windlass_store::conformance::{JOURNAL_CHECKS, JournalHandle, SharedStorage};
use windlass_store::journal::MemoryJournal;
#[cfg(feature = "sqlite")]
use windlass_store::journal::SqliteJournal;

use crate::flawed_journal::{FlawedJournal, JournalFlaw};

#[test]
fn memory_conforms() {
    conformance::check_journal("memory", || SharedStorage::new(MemoryJournal::new(clock)));
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_conforms() {
    conformance::check_journal("sqlite", sqlite);
}

/// A folder that is removed with the function that opens the journal in it.
#[cfg(feature = "sqlite")]
fn sqlite() -> impl Fn() -> JournalHandle {
    // The storage is in memory where that is possible, so that thousands of commits need no disk.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder can be made");
    move || Arc::new(SqliteJournal::open(&folder, clock).expect("the journal opens"))
}

fn clock() -> Time {
    Time::from_millis(1_790_000_000_000)
}

/// The journal without a flaw must pass; otherwise the failures of the flawed ones prove nothing.
#[test]
fn a_journal_without_a_flaw_conforms() {
    conformance::check_journal("without a flaw", || flawed(None));
}

#[test]
fn each_flaw_is_found_by_its_check() {
    for flaw in JournalFlaw::ALL {
        let report = conformance::examine_journal("flawed", || flawed(Some(flaw)));
        let check = flaw.found_by();
        assert!(
            JOURNAL_CHECKS.iter().any(|known| known.name == check),
            "there is no check {check}"
        );
        assert!(report.has_failed(check), "{flaw:?} was not found by {check}\n{report}");
    }
}

#[test]
fn a_failure_names_the_backend_the_check_and_the_difference() {
    let report = conformance::examine_journal("leaky", || flawed(Some(JournalFlaw::AcceptsHoles)));
    let text = report.to_string();
    let line = text.lines().find(|line| line.contains("positions::a_hole_ahead_is_refused"));
    let line = line.expect("the check failed");
    assert!(line.contains("leaky") && line.contains("promised Err(Gap"), "{line}");
    assert_eq!(
        report.failures.len() + report.passed.len(),
        JOURNAL_CHECKS.len(),
        "all of them ran"
    );
}

fn flawed(flaw: Option<JournalFlaw>) -> impl Fn() -> JournalHandle {
    let storage = FlawedJournal::storage();
    move || Arc::new(FlawedJournal::open(&storage, flaw))
}
