//! Appends: their effect, and when a batch counts as a repeat.

use super::harness::FreshStorage;
use super::journal_fixtures::{JournalTestLeader, append, block_on, expect_batches, moved, tail};
use super::report::{CheckResult, expect_same};
use crate::db::StoreError;
use crate::journal::Position;

/// The head of a new journal is position zero, and its tail is empty.
pub(super) fn an_empty_journal_has_nothing(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    expect_same("the head", &block_on(journal.head())?, &Position(0))?;
    expect_same("the tail", &tail(&journal, 0, 10)?, &Vec::new())?;
    let leader = JournalTestLeader::win(&journal, "alpha")?;
    expect_same("the head of the won term", &leader.head, &Position(0))
}

/// When an append returns, the batch is readable with its term, name, times and events.
pub(super) fn an_append_is_readable_at_once(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let first = leader.write(1)?;
    expect_same("the tail", &tail(&journal, 0, 10)?, &vec![first.clone()])?;
    expect_same("the head", &block_on(journal.head())?, &Position(1))?;
    let second = leader.write(3)?;
    expect_same("the tail after the first", &tail(&journal, 1, 10)?, &vec![second.clone()])?;
    expect_batches(&journal, &[first, second])
}

/// A batch that one handle appended is readable at once through another handle that does not lead.
pub(super) fn another_handle_reads_it_too(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, standby) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let first = leader.write(2)?;
    expect_batches(&standby, std::slice::from_ref(&first))?;
    let second = leader.write(1)?;
    expect_batches(&standby, &[first, second])
}

/// A batch of many events has one position, that of its last event, and is read as one batch.
pub(super) fn a_batch_is_written_whole(fresh: &FreshStorage<'_>) -> CheckResult {
    /// The engine's own limit.
    const LARGEST: usize = 4096;
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let whole = leader.write(LARGEST)?;
    expect_same("the batches read", &tail(&journal, 0, 10)?.len(), &1)?;
    expect_batches(&journal, &[whole])
}

/// A refused batch leaves neither its events nor its name in the journal.
pub(super) fn a_refused_batch_leaves_nothing(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let first = leader.write(2)?;
    let batch = leader.batch(3);
    let ahead = moved(&batch, batch.term, Position(5));
    let gap = StoreError::Gap { after: Position(5), head: Position(2) };
    expect_same("the answer", &append(&journal, ahead), &Err(gap))?;
    expect_batches(&journal, std::slice::from_ref(&first))?;
    let second = leader.append_accepted(batch)?;
    expect_batches(&journal, &[first, second])
}

/// An append repeated unchanged returns its position and writes nothing, even if other batches have followed.
pub(super) fn the_same_batch_again_writes_nothing(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let batch = leader.batch(2);
    let first = leader.append_accepted(batch.clone())?;
    expect_same("the repeat", &append(&journal, batch.clone()), &Ok(Position(2)))?;
    expect_batches(&journal, std::slice::from_ref(&first))?;
    let second = leader.write(1)?;
    expect_same(
        "the repeat of one that others followed",
        &append(&journal, batch),
        &Ok(Position(2)),
    )?;
    expect_batches(&journal, &[first, second])
}

/// A name that was used at another position does not make a batch a repeat.
pub(super) fn the_same_name_elsewhere_is_no_repeat(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let batch = leader.batch(2);
    let first = leader.append_accepted(batch.clone())?;
    let inside = moved(&batch, batch.term, Position(1));
    let gap = StoreError::Gap { after: Position(1), head: Position(2) };
    expect_same("the answer inside the first", &append(&journal, inside), &Err(gap))?;
    let second = leader.append_accepted(moved(&batch, batch.term, Position(2)))?;
    expect_batches(&journal, &[first, second])
}

/// A name that an earlier term used does not make a batch a repeat: otherwise a leader would take the events of another
/// for its own.
pub(super) fn the_same_name_in_a_later_term_is_no_repeat(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let batch = leader.batch(2);
    let first = leader.append_accepted(batch.clone())?;
    leader.resign()?;
    let mut next = JournalTestLeader::win(&rival, "beta")?;
    let same = moved(&batch, next.term(), batch.after);
    let gap = StoreError::Gap { after: Position(0), head: Position(2) };
    expect_same("the answer behind the same position", &append(&rival, same), &Err(gap))?;
    let second = next.append_accepted(moved(&batch, next.term(), Position(2)))?;
    expect_batches(&journal, &[first, second])
}
