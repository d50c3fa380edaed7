//! The content after a restart. A handle that is dropped without resigning represents a process that died.

use super::harness::FreshStorage;
use super::journal_fixtures::{
    JournalTestLeader, append, block_on, expect_batches, expect_stale, fold_events,
    read_all_batches,
};
use super::report::{CheckResult, expect_same, expect_same_list, expect_true};
use super::sample_history::sample_history;
use super::snapshot::{filled, is_left, is_newest, prune, save, snapshot};
use crate::journal::Position;

/// All acknowledged batches are present in order, and the next leader continues after them.
pub(super) fn what_was_acknowledged_is_there(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let mut written = Vec::new();
    for round in 0..3 {
        let journal = harness.open();
        expect_batches(&journal, &written)?;
        let mut leader = JournalTestLeader::win(&journal, "alpha")?;
        expect_same("the head of the won term", &leader.head, &Position(round * 6))?;
        written.extend([leader.write(1)?, leader.write(3)?, leader.write(2)?]);
        drop((journal, leader));
        harness.let_terms_end();
    }
    expect_batches(&harness.open(), &written)
}

/// Folding the journal gives the state that the engine had when the last append was acknowledged.
pub(super) fn the_same_state_follows_from_it(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let history = sample_history();
    {
        let journal = harness.open();
        let mut leader = JournalTestLeader::win(&journal, "alpha")?;
        for batch in history.batches {
            let append = leader.batch_of(batch);
            leader.append_accepted(append)?;
        }
    }
    let there = read_all_batches(&harness.open())?;
    let engine = fold_events(there.iter().map(|batch| batch.events.as_slice()))?;
    let (found, promised) = (engine.dump(), history.state);
    let lines = |state: &str| state.lines().map(str::to_owned).collect::<Vec<_>>();
    expect_same_list("the lines of the state", &lines(&found), &lines(&promised))
}

/// A term is never won again, whether it was resigned, ended with its process, or wrote nothing.
pub(super) fn a_term_is_never_used_again(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let mut before = None;
    for round in 0..6 {
        let journal = harness.open();
        let mut leader = JournalTestLeader::win(&journal, "alpha")?;
        let grows = before.is_none_or(|before| leader.term() > before);
        expect_true(&format!("after a restart {} follows {before:?}", leader.term()), grows)?;
        before = Some(leader.term());
        if round % 2 == 0 {
            leader.resign()?;
        } else {
            leader.write(1)?;
        }
        drop((journal, leader));
        harness.let_terms_end();
    }
    Ok(())
}

/// A batch of a dead process is not appended again when another process repeats it under the same term.
pub(super) fn a_repeat_after_a_restart_is_refused_without_effect(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    let harness = fresh();
    let (first, batch) = {
        let journal = harness.open();
        let mut leader = JournalTestLeader::win(&journal, "alpha")?;
        let batch = leader.batch(2);
        (leader.append_accepted(batch.clone())?, batch)
    };
    harness.let_terms_end();
    let journal = harness.open();
    let next = JournalTestLeader::win(&journal, "alpha")?;
    expect_stale("the repeat", &append(&journal, batch))?;
    block_on(journal.renew(next.term()))?;
    expect_batches(&journal, &[first])
}

/// The newest two snapshots are present, and so is the pruning that they allow: the older one limits it.
pub(super) fn snapshots_are_there(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let written = {
        let journal = harness.open();
        let written = filled(&journal)?;
        for position in [6, 12] {
            save(&journal, position)?;
        }
        written
    };
    let journal = harness.open();
    is_newest(&journal, &snapshot(&journal, 12, "kept")?)?;
    is_left(&journal, &written, 0)?;
    expect_same("the pruned position", &prune(&journal, u64::MAX)?, &Position(5))?;
    is_left(&journal, &written, 5)
}

/// Pruned events stay pruned, and the journal continues from there, restart after restart.
pub(super) fn what_has_left_stays_away(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let mut written = filled(&harness.open())?;
    for (before, floor, position) in [(0, 0, 13), (0, 0, 14), (0, 12, 15), (12, 13, 16)] {
        let journal = harness.open();
        is_left(&journal, &written, before)?;
        expect_same("the pruned position", &prune(&journal, u64::MAX)?, &Position(floor))?;
        let mut leader = JournalTestLeader::win(&journal, "alpha")?;
        expect_same("the head of the won term", &leader.head, &block_on(journal.head())?)?;
        written.push(leader.write(1)?);
        save(&journal, position)?;
        is_left(&journal, &written, floor)?;
        drop((journal, leader));
        harness.let_terms_end();
    }
    Ok(())
}
