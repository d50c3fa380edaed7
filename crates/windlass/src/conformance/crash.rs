//! Answers that are lost on the way: the caller repeats, and the journal writes once.

use std::sync::Arc;

use super::faults::{Call, Fault, Faulty};
use super::harness::{Fresh, Handle};
use super::report::{Checked, holds, same};
use super::vocabulary::{Writer, append, contains, is_stale, stored};
use crate::journal::Position;
use crate::store::StoreError;

/// An append that was written and not answered returns its position when it is repeated, and is there once.
pub(super) fn an_append_without_answer_is_settled_by_repeating_it(fresh: &Fresh<'_>) -> Checked {
    is_written_once(fresh, [Fault::Unanswered], StoreError::is_unknown)?;
    is_written_once(fresh, [Fault::Unanswered, Fault::Unanswered], StoreError::is_unknown)
}

/// An append that never arrived is written when it is repeated, once.
pub(super) fn an_append_that_never_arrived_is_written_once(fresh: &Fresh<'_>) -> Checked {
    is_written_once(fresh, [Fault::Unsent], StoreError::is_unknown)?;
    is_written_once(fresh, [Fault::Unsent, Fault::Unanswered], StoreError::is_unknown)
}

/// An append that was refused for want of room is written when it is repeated and there is room.
pub(super) fn an_append_without_room_is_written_once_there_is(fresh: &Fresh<'_>) -> Checked {
    let known = |error: &StoreError| error.is_retryable() && !error.is_unknown();
    is_written_once(fresh, [Fault::Full, Fault::Full], known)
}

fn is_written_once<const N: usize>(
    fresh: &Fresh<'_>,
    faults: [Fault; N],
    expected: impl Fn(&StoreError) -> bool,
) -> Checked {
    let place = fresh();
    let journal = place.open();
    let mut leader = Writer::win(&journal, "alpha")?;
    let mut written = vec![leader.write(1)?];
    let line = Faulty::new(Arc::clone(&journal));
    for fault in faults {
        line.plan(Call::Append, fault);
    }
    leader.journal = Arc::new(line);
    let batch = leader.batch(3);
    for _ in 0..N {
        let answer = append(&leader.journal, batch.clone());
        let as_planned = answer.as_ref().err().is_some_and(&expected);
        holds(&format!("the fault was answered with {answer:?}"), as_planned)?;
    }
    written.push(leader.put(batch.clone())?);
    same("one more repeat", &append(&journal, batch), &Ok(Position(4)))?;
    written.push(leader.write(1)?);
    contains(&journal, &written)
}

/// An append that was written and not answered is in the journal that the next leader takes over; its writer's repeat
/// is refused as stale and changes nothing.
pub(super) fn the_next_leader_sees_an_append_without_answer(fresh: &Fresh<'_>) -> Checked {
    let place = fresh();
    let (journal, rival) = (place.open(), place.open());
    let mut leader = Writer::win(&journal, "alpha")?;
    let line = Faulty::new(Arc::clone(&journal)).with(Call::Append, Fault::Unanswered);
    let line: Handle = Arc::new(line);
    let batch = leader.batch(2);
    let answer = append(&line, batch.clone());
    holds("the answer was to be lost", answer.is_err())?;
    leader.resign()?;
    let mut next = Writer::win(&rival, "beta")?;
    same("the head that was won", &next.head, &Position(2))?;
    is_stale("the repeat", &append(&line, batch.clone()))?;
    let second = next.write(1)?;
    contains(&rival, &[stored(batch), second])
}
