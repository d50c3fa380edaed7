//! Condemned runs, and the marks of starts.

use std::collections::BTreeSet;

use windlass_core::id::RunId;

use super::harness::FreshStorage;
use super::journal_fixtures::{JournalTestLeader, block_on};
use super::report::{CheckResult, expect_same, expect_true};
use crate::db::StoreError;
use crate::journal::StartMark;

/// A condemned run is listed once by every handle, under later terms too.
pub(super) fn a_condemned_run_is_listed(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, standby) = (harness.open(), harness.open());
    expect_same("runs condemned at first", &block_on(journal.condemned())?, &BTreeSet::new())?;
    let leader = JournalTestLeader::win(&journal, "alpha")?;
    let runs = [RunId(1), RunId(u64::MAX), RunId(1 << 63)];
    for run in runs.into_iter().chain(runs) {
        block_on(journal.condemn(leader.term(), run))?;
    }
    expect_same("runs condemned", &block_on(standby.condemned())?, &BTreeSet::from(runs))?;
    leader.resign()?;
    let next = JournalTestLeader::win(&standby, "beta")?;
    block_on(standby.condemn(next.term(), RunId(2)))?;
    expect_same("runs condemned in two terms", &block_on(journal.condemned())?.len(), &4)
}

/// A term that has passed condemns no run: another node may lead with the run in its state.
pub(super) fn a_passed_term_condemns_nothing(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let leader = JournalTestLeader::win(&journal, "alpha")?;
    leader.resign()?;
    let _next = JournalTestLeader::win(&rival, "beta")?;
    let refused = block_on(journal.condemn(leader.term(), RunId(1)));
    expect_true("a passed term condemned a run", matches!(refused, Err(StoreError::Stale { .. })))?;
    expect_same("runs condemned", &block_on(rival.condemned())?, &BTreeSet::new())
}

/// The next mark of a start replaces the last one, and is removed when the start has finished.
pub(super) fn a_start_leaves_a_mark_until_it_is_done(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mark = |applying| StartMark { node: "alpha".to_owned(), applying };
    block_on(journal.mark_start(mark(None)))?;
    block_on(journal.mark_start(mark(Some(RunId(7)))))?;
    block_on(journal.clear_start("alpha".to_owned()))?;
    expect_same("marks of a start that is done", &block_on(journal.start_marks())?, &Vec::new())
}
