//! Lost replies: the caller repeats the append, and the journal writes it once.

use std::sync::Arc;

use super::faulty_journal::{FaultyJournal, JournalCall, JournalFault};
use super::harness::{FreshStorage, JournalHandle};
use super::journal_fixtures::{JournalTestLeader, append, expect_batches, expect_stale};
use super::report::{CheckResult, expect_same, expect_true};
use crate::db::StoreError;
use crate::journal::Position;

/// An append whose reply was lost returns its position when it is repeated, and is written once.
pub(super) fn an_append_without_answer_is_settled_by_repeating_it(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    is_written_once(fresh, [JournalFault::Unanswered], StoreError::is_unknown)?;
    is_written_once(
        fresh,
        [JournalFault::Unanswered, JournalFault::Unanswered],
        StoreError::is_unknown,
    )
}

/// An append that never arrived is written once when it is repeated.
pub(super) fn an_append_that_never_arrived_is_written_once(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    is_written_once(fresh, [JournalFault::Unsent], StoreError::is_unknown)?;
    is_written_once(fresh, [JournalFault::Unsent, JournalFault::Unanswered], StoreError::is_unknown)
}

/// An append that was refused because the disk was full is written when it is repeated and there is space.
pub(super) fn an_append_without_room_is_written_once_there_is(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    let known = |error: &StoreError| error.is_retryable() && !error.is_unknown();
    is_written_once(fresh, [JournalFault::Full, JournalFault::Full], known)
}

fn is_written_once<const N: usize>(
    fresh: &FreshStorage<'_>,
    faults: [JournalFault; N],
    expected: impl Fn(&StoreError) -> bool,
) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = vec![leader.write(1)?];
    let line = FaultyJournal::new(Arc::clone(&journal));
    for fault in faults {
        line.plan(JournalCall::Append, fault);
    }
    leader.journal = Arc::new(line);
    let batch = leader.batch(3);
    for _ in 0..N {
        let answer = append(&leader.journal, batch.clone());
        let as_planned = answer.as_ref().err().is_some_and(&expected);
        expect_true(&format!("the fault was answered with {answer:?}"), as_planned)?;
    }
    written.push(leader.append_accepted(batch.clone())?);
    expect_same("one more repeat", &append(&journal, batch), &Ok(Position(4)))?;
    written.push(leader.write(1)?);
    expect_batches(&journal, &written)
}

/// An append whose reply was lost is in the journal of the next leader. The repeat by its writer is refused as stale and
/// changes nothing.
pub(super) fn the_next_leader_sees_an_append_without_answer(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let line = FaultyJournal::new(Arc::clone(&journal))
        .with(JournalCall::Append, JournalFault::Unanswered);
    let line: JournalHandle = Arc::new(line);
    let batch = leader.batch(2);
    let answer = append(&line, batch.clone());
    expect_true("the answer was to be lost", answer.is_err())?;
    leader.resign()?;
    let mut next = JournalTestLeader::win(&rival, "beta")?;
    expect_same("the head of the won term", &next.head, &Position(2))?;
    expect_stale("the repeat", &append(&line, batch.clone()))?;
    let second = next.write(1)?;
    expect_batches(&rival, &[batch, second])
}
