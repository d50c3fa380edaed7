//! Snapshots, and the pruning that they allow.
//!
//! Each check has one leader and batches of [`SIZES`] events, so batches end at 2, 5, 6, 10, 12 and 13.

use std::sync::Arc;
use std::thread;

use windlass_core::engine::{Engine, EngineConfig};

use super::harness::{FreshStorage, JournalHandle};
use super::journal_fixtures::{
    JournalTestLeader, append, block_on, expect_stale, fold_events, moved, tail,
};
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use super::sample_history::sample_history;
use crate::db::StoreError;
use crate::journal::{
    BatchId, EventBatch, JournalSnapshot, Position, RecordedEvent, decode_state, encode_state,
};

const SIZES: [usize; 6] = [2, 3, 1, 4, 2, 1];
/// The position at which the last batch ends.
const HEAD: u64 = 13;
/// The most prune calls: one call may prune only a part, but more calls than this for a dozen batches make no progress.
const PRUNES_MAX: usize = 100;

/// A new journal has no snapshot, and events alone create none.
pub(super) fn at_first_there_is_none(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    expect_same("the snapshot of an empty journal", &block_on(journal.snapshot())?, &None)?;
    filled(&journal)?;
    expect_same("the snapshot before any save", &block_on(journal.snapshot())?, &None)
}

/// Every handle reads a snapshot as it was saved, whatever its bytes and size.
pub(super) fn a_saved_one_reads_back(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, standby) = (harness.open(), harness.open());
    filled(&journal)?;
    let large: Vec<u8> = (0..3_000_000_u32).map(|at| at.to_le_bytes()[at as usize % 3]).collect();
    let states = [(2, vec![7]), (5, (0..=255).collect()), (6, Vec::new()), (10, large)];
    for (position, state) in states {
        let saved = JournalSnapshot { state, ..snapshot(&journal, position, "")? };
        block_on(journal.save(saved.clone()))?;
        is_newest(&journal, &saved)?;
        is_newest(&standby, &saved)?;
    }
    // A standby folds the same events and may save the state.
    let saved = snapshot(&journal, 12, "of a standby")?;
    block_on(standby.save(saved.clone()))?;
    is_newest(&journal, &saved)
}

/// The newest snapshot is the one with the last position, regardless of the order of saving.
pub(super) fn the_newest_counts(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    filled(&journal)?;
    for (position, newest) in [(5, 5), (10, 10), (2, 10), (6, 10), (13, 13), (12, 13)] {
        save(&journal, position)?;
        is_newest(&journal, &snapshot(&journal, newest, "kept")?)?;
    }
    Ok(())
}

/// Two saves at the same position count as one snapshot: they do not allow pruning, which takes two.
pub(super) fn saved_twice_it_is_one(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled(&journal)?;
    for _ in 0..3 {
        save(&journal, 6)?;
        is_newest(&journal, &snapshot(&journal, 6, "kept")?)?;
    }
    expect_same("the pruned position", &prune(&journal, HEAD)?, &Position(0))?;
    is_left(&journal, &written, 0)?;
    save(&journal, 12)?;
    save(&journal, 12)?;
    expect_same("the pruned position with another snapshot", &prune(&journal, HEAD)?, &Position(5))
}

/// A snapshot ahead of the head contains lost events. It is not used, does not count as one of two, and stays unused
/// when the next leader's different events have passed its position.
pub(super) fn one_ahead_of_the_head_is_not_used(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = vec![leader.write(2)?, leader.write(3)?];
    save(&journal, 2)?;
    // A journal may also refuse it.
    drop(block_on(journal.save(replaced(6))));
    is_newest(&journal, &snapshot(&journal, 2, "kept")?)?;
    expect_same("the pruned position", &prune(&journal, HEAD)?, &Position(0))?;
    leader.resign()?;
    let mut next = JournalTestLeader::win(&journal, "beta")?;
    written.extend([next.write(1)?, next.write(3)?]);
    is_newest(&journal, &snapshot(&journal, 2, "kept")?)?;
    expect_same("the pruned position later", &prune(&journal, HEAD)?, &Position(0))?;
    is_left(&journal, &written, 0)?;
    save(&journal, 9)?;
    is_newest(&journal, &snapshot(&journal, 9, "kept")?)
}

/// A snapshot of a history that another leader's batches replaced is not used, whether it is older or newer than the
/// matching ones. It does not count as one of two, and does not prevent a matching one at its position from being
/// saved.
pub(super) fn one_of_another_history_is_not_used(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, deposed) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = vec![leader.write(2)?, leader.write(3)?];
    save(&journal, 2)?;
    // A journal may also refuse a snapshot ahead of its head.
    let kept = block_on(deposed.save(replaced(6))).is_ok();
    written.push(leader.write(1)?);
    for reader in [&journal, &deposed] {
        is_newest(reader, &snapshot(&journal, 2, "kept")?)?;
        let foreign = block_on(reader.foreign_snapshots())?;
        expect_same_list("listed as foreign", &foreign, &vec![Position(6); usize::from(kept)])?;
        expect_same("the pruned position", &prune(reader, HEAD)?, &Position(0))?;
    }
    for behind in [2, 5] {
        drop(block_on(deposed.save(replaced(behind))));
        is_newest(&journal, &snapshot(&journal, 2, "kept")?)?;
    }
    save(&journal, 6)?;
    is_newest(&deposed, &snapshot(&journal, 6, "kept")?)?;
    expect_same(
        "the foreign snapshots in the end",
        &block_on(journal.foreign_snapshots())?,
        &Vec::new(),
    )?;
    save(&journal, 5)?;
    expect_same("the pruned position with three snapshots", &prune(&journal, HEAD)?, &Position(2))?;
    is_left(&journal, &written, 2)
}

/// Creates a snapshot of a batch that is not in the journal.
fn replaced(position: u64) -> JournalSnapshot {
    let state = format!("replaced at {position}").into_bytes();
    JournalSnapshot { position: Position(position), batch: BatchId(1 << 63), state }
}

/// A snapshot at any position and the events after it give the same state as the whole journal.
pub(super) fn with_its_tail_it_gives_the_same_state(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let history = sample_history().batches;
    for batch in &history {
        let append = leader.batch_of(batch.clone());
        leader.append_accepted(append)?;
    }
    let whole = fold_events(history.iter().map(Vec::as_slice))?;
    let mut engine = Engine::new(EngineConfig::default());
    let mut position = Position(0);
    for batch in &history {
        engine = fold_on(engine, batch)?;
        position.0 += batch.len() as u64;
        let state = encode_state(&engine);
        block_on(journal.save(JournalSnapshot { state, ..snapshot(&journal, position.0, "")? }))?;
        let at =
            |difference: CheckDifference| CheckDifference(format!("from {position}: {difference}"));
        is_same_state(&begun_anew(&journal, position)?, &whole).map_err(at)?;
    }
    expect_same("the position of the last", &position, &block_on(journal.head())?)
}

/// Returns the engine of a node that starts with the snapshot.
fn begun_anew(journal: &JournalHandle, position: Position) -> Result<Engine, CheckDifference> {
    let found = block_on(journal.snapshot())?;
    let found = found.ok_or_else(|| CheckDifference::new("there is no snapshot"))?;
    expect_same("the position of the snapshot", &found.position, &position)?;
    let engine = decode_state(&found.state, EngineConfig::default());
    let engine = engine.map_err(|error| CheckDifference(error.to_string()))?;
    expect_same("the bytes, encoded again", &(encode_state(&engine) == found.state), &true)?;
    let behind = block_on(journal.tail(position, usize::MAX))?;
    behind.iter().try_fold(engine, |engine, batch| fold_on(engine, &batch.events))
}

fn fold_on(mut engine: Engine, events: &[Arc<RecordedEvent>]) -> Result<Engine, CheckDifference> {
    for recorded in events {
        let RecordedEvent { at, event, .. } = &**recorded;
        let applied = engine.apply(*at, event);
        applied.map_err(|error| CheckDifference(format!("{error}: {event:?}")))?;
    }
    Ok(engine)
}

fn is_same_state(found: &Engine, promised: &Engine) -> CheckResult {
    let lines =
        |engine: &Engine| engine.dump_details().lines().map(str::to_owned).collect::<Vec<_>>();
    expect_same_list("the lines of the state", &lines(found), &lines(promised))?;
    expect_true(
        &format!("the state contradicts itself: {:?}", found.check()),
        found.check().is_empty(),
    )?;
    expect_true(
        "the state is encoded as other bytes",
        encode_state(found) == encode_state(promised),
    )
}

/// Without two snapshots nothing is pruned: the only one could be damaged.
pub(super) fn without_two_nothing_leaves(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    expect_same("the pruned position of an empty journal", &prune(&journal, HEAD)?, &Position(0))?;
    let written = filled(&journal)?;
    expect_same("the pruned position without a snapshot", &prune(&journal, HEAD)?, &Position(0))?;
    is_left(&journal, &written, 0)?;
    save(&journal, 12)?;
    expect_same("the pruned position with one snapshot", &prune(&journal, HEAD)?, &Position(0))?;
    is_left(&journal, &written, 0)
}

/// No event after the older snapshot is pruned: the state can be rebuilt from this snapshot and the rest. The batch at
/// which it ends stays too, because the snapshot is matched with it.
pub(super) fn nothing_leaves_that_the_older_one_lacks(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled(&journal)?;
    for (position, floor) in [(5, 0), (10, 2), (12, 6), (10, 6)] {
        save(&journal, position)?;
        expect_same("the pruned position", &prune(&journal, u64::MAX)?, &Position(floor))?;
        is_left(&journal, &written, floor)?;
    }
    Ok(())
}

/// A prune never goes further than requested.
pub(super) fn nothing_leaves_beyond_what_was_asked(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled_and_saved(&journal)?;
    for (upto, floor) in [(0, 0), (2, 2), (5, 5), (6, 6), (2, 6), (10, 10), (12, 10)] {
        expect_same("the pruned position", &prune(&journal, upto)?, &Position(floor))?;
        is_left(&journal, &written, floor)?;
    }
    Ok(())
}

/// A batch is pruned completely or not at all, for any snapshots and any requested position.
pub(super) fn only_whole_batches_leave(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled_and_saved(&journal)?;
    for (upto, floor) in [(1, 0), (3, 2), (4, 2), (5, 5), (7, 6), (9, 6), (11, 10)] {
        expect_same(
            &format!("the pruned position for {upto}"),
            &prune(&journal, upto)?,
            &Position(floor),
        )?;
        is_left(&journal, &written, floor)?;
    }
    Ok(())
}

/// The last batch stays, even if both snapshots contain it: it is the head, and identifies a repeat of it.
pub(super) fn the_last_batch_stays(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = vec![leader.write(3)?];
    save(&journal, 3)?;
    expect_same("the pruned position with one batch", &prune(&journal, 3)?, &Position(0))?;
    is_left(&journal, &written, 0)?;
    written.extend([leader.write(1)?, leader.write(4)?]);
    for position in [4, 8, 8] {
        save(&journal, position)?;
    }
    expect_same("the pruned position in the end", &prune(&journal, u64::MAX)?, &Position(3))?;
    is_left(&journal, &written, 3)
}

/// A read of pruned events fails with the pruned position: a reader must not take them for missing events.
pub(super) fn what_has_left_is_not_skipped(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, standby) = (harness.open(), harness.open());
    let written = filled_and_saved(&journal)?;
    for upto in [2, 6, 10, 12] {
        let floor = prune(&journal, upto)?.0;
        is_left(&journal, &written, floor)?;
        is_left(&standby, &written, floor)?;
    }
    Ok(())
}

/// A fully pruned journal works as before: head, repeats, gaps and leaders.
pub(super) fn a_pruned_journal_goes_on(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut batches = Vec::new();
    for events in [2, 3, 1, 1] {
        let batch = leader.batch(events);
        leader.append_accepted(batch.clone())?;
        batches.push(batch);
    }
    let mut written = batches.clone();
    for position in [6, 7] {
        save(&journal, position)?;
    }
    expect_same("the pruned position", &prune(&journal, u64::MAX)?, &Position(5))?;
    let last = batches.pop().ok_or_else(|| CheckDifference::new("four were written"))?;
    expect_same("a repeat of the last batch", &append(&journal, last.clone()), &Ok(Position(7)))?;
    for gone in batches.into_iter().take(2) {
        let gap = StoreError::Gap { after: gone.after, head: Position(7) };
        expect_same("a repeat of a pruned batch", &append(&journal, gone), &Err(gap))?;
    }
    let hole = leader.batch(1);
    let hole = moved(&hole, hole.term, Position(8));
    let gap = StoreError::Gap { after: Position(8), head: Position(7) };
    expect_same("a batch with a gap before it", &append(&journal, hole), &Err(gap))?;
    written.push(leader.write(3)?);
    is_left(&journal, &written, 5)?;
    leader.resign()?;
    let mut next = JournalTestLeader::win(&rival, "beta")?;
    expect_same("the head of the won term", &next.head, &Position(10))?;
    expect_stale("a repeat under the passed term", &append(&journal, last))?;
    written.push(next.write(1)?);
    is_left(&journal, &written, 5)
}

/// Pruning again, or up to an earlier position, changes nothing and returns the same position.
pub(super) fn pruning_again_changes_nothing(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, standby) = (harness.open(), harness.open());
    let written = filled_and_saved(&journal)?;
    expect_same("the pruned position", &prune(&journal, 10)?, &Position(10))?;
    for upto in [10, 5, 0, 10] {
        expect_same("the pruned position by then", &prune(&journal, upto)?, &Position(10))?;
        expect_same("the pruned position for another", &prune(&standby, upto)?, &Position(10))?;
        is_left(&journal, &written, 10)?;
    }
    is_newest(&journal, &snapshot(&journal, HEAD, "kept")?)
}

/// A read during pruning returns all requested events, or the error that they are pruned.
pub(super) fn a_page_read_while_batches_leave_is_whole(fresh: &FreshStorage<'_>) -> CheckResult {
    const BATCHES: u64 = 300;
    let harness = fresh();
    let (journal, standby) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    for _ in 0..BATCHES {
        leader.write(1)?;
    }
    for position in [BATCHES - 1, BATCHES] {
        save(&journal, position)?;
    }
    thread::scope(|scope| {
        let pruning =
            scope.spawn(|| (1..BATCHES).try_for_each(|upto| prune(&journal, upto).map(drop)));
        let mut floor = 0;
        while floor + 1 < BATCHES && !pruning.is_finished() {
            floor = is_whole_or_left(&standby, floor)?;
        }
        pruning.join().map_err(|_| CheckDifference::new("pruning panicked"))?
    })
}

/// Reads a page after a position, and returns the position from which to continue.
fn is_whole_or_left(journal: &JournalHandle, after: u64) -> Result<u64, CheckDifference> {
    match block_on(journal.tail(Position(after), 5)) {
        Err(StoreError::Pruned { upto }) => Ok(upto.0),
        Ok(page) => {
            let begins = page.first().map(|first| first.after);
            expect_same("where the page begins", &begins, &Some(Position(after)))?;
            Ok(after)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns a leader and its batches of these sizes.
pub(super) fn filled(journal: &JournalHandle) -> Result<Vec<Arc<EventBatch>>, CheckDifference> {
    let mut leader = JournalTestLeader::win(journal, "alpha")?;
    let written = SIZES.iter().map(|events| leader.write(*events)).collect();
    leader.resign()?;
    written
}

/// The same, with snapshots after the last two batches.
fn filled_and_saved(journal: &JournalHandle) -> Result<Vec<Arc<EventBatch>>, CheckDifference> {
    let written = filled(journal)?;
    for position in [12, HEAD] {
        save(journal, position)?;
    }
    Ok(written)
}

/// Creates a snapshot of the journal at a position where a batch ends.
pub(super) fn snapshot(
    journal: &JournalHandle,
    position: u64,
    word: &str,
) -> Result<JournalSnapshot, CheckDifference> {
    let last = tail(journal, position - 1, 1)?;
    let batch = last.first().filter(|batch| batch.position() == Position(position));
    let batch = batch.ok_or_else(|| CheckDifference(format!("no batch ends at {position}")))?.id;
    let state = format!("{word} at {position}").into_bytes();
    Ok(JournalSnapshot { position: Position(position), batch, state })
}

pub(super) fn save(journal: &JournalHandle, position: u64) -> CheckResult {
    Ok(block_on(journal.save(snapshot(journal, position, "kept")?))?)
}

pub(super) fn is_newest(journal: &JournalHandle, promised: &JournalSnapshot) -> CheckResult {
    let found = block_on(journal.snapshot())?;
    expect_same("the newest snapshot", &found.as_ref(), &Some(promised))
}

/// Prunes until no more events are removed: the journal decides how many one call removes.
pub(super) fn prune(journal: &JournalHandle, upto: u64) -> Result<Position, CheckDifference> {
    let mut floor = block_on(journal.prune(Position(upto)))?;
    for _ in 0..PRUNES_MAX {
        let further = block_on(journal.prune(Position(upto)))?;
        if further == floor {
            return Ok(floor);
        }
        expect_true(&format!("{further} is pruned after {floor}"), further > floor)?;
        floor = further;
    }
    Err(CheckDifference(format!("pruning makes no progress; the last position is {floor}")))
}

/// Checks that all events up to the floor are pruned, that reading them fails, and that all later ones are present.
pub(super) fn is_left(
    journal: &JournalHandle,
    written: &[Arc<EventBatch>],
    floor: u64,
) -> CheckResult {
    let head = written.last().map_or(Position(0), |batch| batch.position());
    expect_same("the head", &block_on(journal.head())?, &head)?;
    for after in 0..floor {
        let found = block_on(journal.tail(Position(after), 10));
        let pruned = StoreError::Pruned { upto: Position(floor) };
        expect_same(&format!("the tail after {after}"), &found, &Err(pruned))?;
    }
    for after in floor..=head.0 {
        let behind = written.iter().filter(|batch| batch.position().0 > after).cloned();
        let found = tail(journal, after, usize::MAX)?;
        expect_same_list(&format!("the tail after {after}"), &found, &behind.collect::<Vec<_>>())?;
    }
    Ok(())
}
