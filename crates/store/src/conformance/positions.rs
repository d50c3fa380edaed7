//! Contiguous positions: a batch that does not follow the head is refused.

use std::sync::{Arc, Barrier};
use std::thread;

use super::harness::{FreshStorage, JournalHandle};
use super::journal_fixtures::{JournalTestLeader, append, expect_batches};
use super::report::{CheckDifference, CheckResult, expect_same, expect_true};
use crate::db::StoreError;
use crate::journal::{EventBatch, Position};

/// Each append returns the previous position plus its number of events.
pub(super) fn they_are_contiguous(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = Vec::new();
    for events in [1, 2, 1, 7, 3, 1] {
        written.push(leader.write(events)?);
    }
    expect_same("the last position", &leader.head, &Position(15))?;
    expect_batches(&journal, &written)
}

/// A batch that would leave a gap is refused with the position of the head, and has no effect.
pub(super) fn a_hole_ahead_is_refused(fresh: &FreshStorage<'_>) -> CheckResult {
    is_refused_behind(fresh, [4, 5, 1000, i64::MAX.unsigned_abs()])
}

/// A batch that would overwrite others is refused with the position of the head, and has no effect.
pub(super) fn a_batch_behind_the_head_is_refused(fresh: &FreshStorage<'_>) -> CheckResult {
    is_refused_behind(fresh, [0, 1, 2])
}

fn is_refused_behind<const N: usize>(fresh: &FreshStorage<'_>, positions: [u64; N]) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = vec![leader.write(2)?, leader.write(1)?];
    let head = leader.head;
    for after in positions.map(Position) {
        let wrong = Arc::new(EventBatch { after, ..(*leader.batch(2)).clone() });
        let what = format!("the answer behind {after} with the head at {head}");
        expect_same(&what, &append(&journal, wrong), &Err(StoreError::Gap { after, head }))?;
        expect_batches(&journal, &written)?;
    }
    written.push(leader.write(1)?);
    expect_batches(&journal, &written)
}

/// Of concurrent appends after the same position, one is written and the others are refused.
pub(super) fn of_appends_at_once_one_wins(fresh: &FreshStorage<'_>) -> CheckResult {
    const ROUNDS: usize = 4;
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = Vec::new();
    for _ in 0..ROUNDS {
        let won = race(&journal, &mut leader)?;
        leader.head = won.position();
        written.push(won);
        expect_batches(&journal, &written)?;
    }
    Ok(())
}

fn race(
    journal: &JournalHandle,
    leader: &mut JournalTestLeader,
) -> Result<Arc<EventBatch>, CheckDifference> {
    const AT_ONCE: usize = 16;
    let start = Barrier::new(AT_ONCE);
    let batches: Vec<Arc<EventBatch>> = (0..AT_ONCE).map(|at| leader.batch(1 + at % 3)).collect();
    let answers = thread::scope(|scope| {
        let run = |batch: Arc<EventBatch>| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let answer = append(journal, Arc::clone(&batch));
                (batch, answer)
            })
        };
        let threads: Vec<_> = batches.into_iter().map(run).collect();
        let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.collect::<Result<Vec<_>, _>>()
    });
    let answers = answers.map_err(|_| CheckDifference::new("an append panicked"))?;
    let mut winners = Vec::new();
    for (batch, answer) in answers {
        match answer {
            Ok(position) => {
                expect_same("the position of the winner", &position, &batch.position())?;
                winners.push(batch);
            }
            // The error may have any head that was current during the race.
            Err(StoreError::Gap { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
    expect_true(
        &format!("{} of {AT_ONCE} appends at once won", winners.len()),
        winners.len() == 1,
    )?;
    Ok(winners.remove(0))
}
