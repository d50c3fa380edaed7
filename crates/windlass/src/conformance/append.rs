//! What an append does, and when a batch counts as a repeat.

use super::harness::Fresh;
use super::report::{Checked, same};
use super::vocabulary::{Writer, append, block_on, contains, tail};
use crate::journal::Position;
use crate::store::StoreError;

/// A new journal has its head before the first event, and nothing to read.
pub(super) fn an_empty_journal_has_nothing(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let journal = place.open();
    same("the head", &block_on(journal.head())?, &Position(0))?;
    same("the tail", &tail(&journal, 0, 10)?, &Vec::new())?;
    let leader = Writer::win(&journal, "alpha")?;
    same("the head that was won", &leader.head, &Position(0))
}

/// When an append returns, who reads finds it: its term, its name, its times and its events.
pub(super) fn an_append_is_readable_at_once(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let journal = place.open();
    let mut leader = Writer::win(&journal, "alpha")?;
    let first = leader.write(1)?;
    same("the tail", &tail(&journal, 0, 10)?, &vec![first.clone()])?;
    same("the head", &block_on(journal.head())?, &Position(1))?;
    let second = leader.write(3)?;
    same("the tail behind the first", &tail(&journal, 1, 10)?, &vec![second.clone()])?;
    contains(&journal, &[first, second])
}

/// What one handle appended is read by another, which leads nothing, at once.
pub(super) fn another_handle_reads_it_too(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let (journal, standby) = (place.open(), place.open());
    let mut leader = Writer::win(&journal, "alpha")?;
    let first = leader.write(2)?;
    contains(&standby, std::slice::from_ref(&first))?;
    let second = leader.write(1)?;
    contains(&standby, &[first, second])
}

/// A batch of many events has one position, its last event's, and is read as one.
pub(super) fn a_batch_is_written_whole(fresh: &Fresh<'_>) -> Checked {
    /// The engine's own bound.
    const LARGEST: usize = 4096;
    let place = fresh();
    let journal = place.open();
    let mut leader = Writer::win(&journal, "alpha")?;
    let whole = leader.write(LARGEST)?;
    same("the batches read", &tail(&journal, 0, 10)?.len(), &1)?;
    contains(&journal, &[whole])
}

/// A batch that is refused leaves neither its events nor its name behind.
pub(super) fn a_refused_batch_leaves_nothing(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let journal = place.open();
    let mut leader = Writer::win(&journal, "alpha")?;
    let first = leader.write(2)?;
    let mut batch = leader.batch(3);
    batch.after = Position(5);
    let gap = StoreError::Gap { after: Position(5), head: Position(2) };
    same("the answer", &append(&journal, batch.clone()), &Err(gap))?;
    contains(&journal, std::slice::from_ref(&first))?;
    batch.after = Position(2);
    let second = leader.put(batch)?;
    contains(&journal, &[first, second])
}

/// An append repeated unchanged returns the position that it has, and writes nothing, also when others have followed.
pub(super) fn the_same_batch_again_writes_nothing(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let journal = place.open();
    let mut leader = Writer::win(&journal, "alpha")?;
    let batch = leader.batch(2);
    let first = leader.put(batch.clone())?;
    same("the repeat", &append(&journal, batch.clone()), &Ok(Position(2)))?;
    contains(&journal, std::slice::from_ref(&first))?;
    let second = leader.write(1)?;
    same("the repeat of one that others followed", &append(&journal, batch), &Ok(Position(2)))?;
    contains(&journal, &[first, second])
}

/// A name that was used before, behind another position, does not make a batch a repeat.
pub(super) fn the_same_name_elsewhere_is_no_repeat(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let journal = place.open();
    let mut leader = Writer::win(&journal, "alpha")?;
    let batch = leader.batch(2);
    let first = leader.put(batch.clone())?;
    let mut moved = batch.clone();
    moved.after = Position(1);
    let gap = StoreError::Gap { after: Position(1), head: Position(2) };
    same("the answer inside the first", &append(&journal, moved), &Err(gap))?;
    let mut again = batch;
    again.after = Position(2);
    let second = leader.put(again)?;
    contains(&journal, &[first, second])
}

/// A name that an earlier term used does not make a batch a repeat: its leader would take another's events for its own.
pub(super) fn the_same_name_in_a_later_term_is_no_repeat(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let (journal, rival) = (place.open(), place.open());
    let mut leader = Writer::win(&journal, "alpha")?;
    let mut batch = leader.batch(2);
    let first = leader.put(batch.clone())?;
    leader.resign()?;
    let mut next = Writer::win(&rival, "beta")?;
    batch.term = next.term();
    let gap = StoreError::Gap { after: Position(0), head: Position(2) };
    same("the answer behind the same position", &append(&rival, batch.clone()), &Err(gap))?;
    batch.after = Position(2);
    let second = next.put(batch)?;
    contains(&journal, &[first, second])
}
