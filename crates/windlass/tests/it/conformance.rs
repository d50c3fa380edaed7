//! Every journal of this crate keeps its promises, and the checks find one that does not.

use std::sync::Arc;

use windlass::conformance::{self, CHECKS, Handle, Shared};
use windlass::core::time::Time;
use windlass::journal::MemoryJournal;
#[cfg(feature = "sqlite")]
use windlass::journal::SqliteJournal;

use crate::flawed::{Flaw, Flawed};

#[test]
fn memory_conforms() {
    conformance::journal("memory", || Shared::new(MemoryJournal::new(clock)));
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_conforms() {
    conformance::journal("sqlite", sqlite);
}

/// A folder that is removed with the function that opens the journal in it.
#[cfg(feature = "sqlite")]
fn sqlite() -> impl Fn() -> Handle {
    // In memory where that is possible: thousands of commits wait for no disk. No check pulls the plug.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder can be made");
    move || Arc::new(SqliteJournal::open(&folder, clock).expect("the journal opens"))
}

fn clock() -> Time {
    Time::from_millis(1_790_000_000_000)
}

/// The same journal without a flaw must pass, or what follows says nothing.
#[test]
fn a_journal_without_a_flaw_conforms() {
    conformance::journal("without a flaw", || flawed(None));
}

#[test]
fn each_flaw_is_found_by_the_check_that_is_there_for_it() {
    for flaw in Flaw::ALL {
        let report = conformance::examine("flawed", || flawed(Some(flaw)));
        let check = flaw.found_by();
        assert!(CHECKS.iter().any(|known| known.name == check), "there is no check {check}");
        assert!(report.has_failed(check), "{flaw:?} was not found by {check}\n{report}");
    }
}

#[test]
fn a_failure_names_the_backend_the_check_and_the_difference() {
    let report = conformance::examine("leaky", || flawed(Some(Flaw::AcceptsHoles)));
    let text = report.to_string();
    let line = text.lines().find(|line| line.contains("positions::a_hole_ahead_is_refused"));
    let line = line.expect("the check failed");
    assert!(line.contains("leaky") && line.contains("promised Err(Gap"), "{line}");
    assert_eq!(report.failures.len() + report.passed.len(), CHECKS.len(), "all of them ran");
}

fn flawed(flaw: Option<Flaw>) -> impl Fn() -> Handle {
    let storage = Flawed::storage();
    move || Arc::new(Flawed::open(&storage, flaw))
}
