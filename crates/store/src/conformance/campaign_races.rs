//! Campaigns and appends that race each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use super::faulty_journal::{CallGate, FaultyJournal, JournalCall, JournalFault};
use super::harness::{FreshStorage, JournalHandle};
use super::journal_fixtures::{
    JournalTestLeader, append, block_on, expect_batches, expect_stale, tail,
};
use super::report::{CheckDifference, CheckResult, expect_same};
use crate::db::StoreError;
use crate::journal::{EventBatch, Position};

/// An append that begins in time and arrives after another node has won is refused: check and write are atomic.
pub(super) fn an_append_held_up_until_its_term_has_passed_is_refused(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let first = leader.write(1)?;
    let gate = CallGate::new();
    let slow = FaultyJournal::new(Arc::clone(&journal))
        .with(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let slow: JournalHandle = Arc::new(slow);
    let late = leader.batch(1);
    thread::scope(|scope| {
        let held_up = scope.spawn(|| append(&slow, late));
        block_on(gate.reached());
        // A failure before the gate is open must open it too, because otherwise the scope waits for ever.
        let next = leader.resign().and_then(|()| JournalTestLeader::win(&rival, "beta"));
        gate.open();
        let answer = held_up.join().map_err(|_| CheckDifference::new("the append panicked"))?;
        expect_stale("the delayed append", &answer)?;
        let second = next?.write(1)?;
        expect_batches(&journal, &[first, second])
    })
}

/// A campaign reads the exact head, and no earlier term can append after it.
pub(super) fn a_campaign_reads_the_exact_head(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let handles = [harness.open(), harness.open()];
    let mut written: Vec<Arc<EventBatch>> = Vec::new();
    let mut earlier: Vec<JournalTestLeader> = Vec::new();
    for round in 0..6 {
        let journal = &handles[round % 2];
        let mut leader = JournalTestLeader::win(journal, "alpha")?;
        let head = written.last().map_or(Position(0), |batch| batch.position());
        expect_same("the head that was won", &leader.head, &head)?;
        for old in &mut earlier {
            old.head = leader.head;
            let late = old.batch(1);
            expect_stale("an earlier term after it", &append(&old.journal, late))?;
        }
        written.push(leader.write(1 + round)?);
        leader.resign()?;
        earlier.push(leader);
    }
    expect_same("the head", &block_on(handles[0].head())?, &Position(21))?;
    expect_batches(&handles[1], &written)
}

/// An append that is called, but not awaited before another node wins, has one of two results. If the backend had begun
/// it, it is written before the head that the winner read. Otherwise it is refused: a check at the time of the call is
/// not enough.
pub(super) fn an_append_on_its_way_is_before_the_next_head_or_nowhere(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = vec![leader.write(1)?];
    let batch = leader.batch(2);
    let on_its_way = journal.append(batch.clone());
    leader.resign()?;
    let mut next = JournalTestLeader::win(&rival, "beta")?;
    match block_on(on_its_way) {
        Ok(position) => {
            expect_same("its position, beside the head that was won", &position, &next.head)?;
            written.push(batch);
        }
        refused => expect_stale("the append in progress", &refused)?,
    }
    written.push(next.write(1)?);
    expect_batches(&journal, &written)
}

/// Appends in progress while another node wins are in the journal before the head that it read, or not at all. This
/// detects a backend that checks the term and writes in two steps.
pub(super) fn appends_that_race_a_campaign_stay_before_its_head(
    fresh: &FreshStorage<'_>,
) -> CheckResult {
    const ROUNDS: usize = 20;
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    for _ in 0..ROUNDS {
        let leader = JournalTestLeader::win(&journal, "alpha")?;
        let term = leader.term();
        let race = CampaignRace { set_out: Barrier::new(2), won: AtomicBool::new(false) };
        let (next, raced) = thread::scope(|scope| {
            let racing = scope.spawn(|| race.write_until_refused(leader));
            race.set_out.wait();
            let next = block_on(journal.resign(term)).map_err(CheckDifference::from);
            let next = next.and_then(|()| JournalTestLeader::win(&rival, "beta"));
            race.won.store(true, Ordering::SeqCst);
            (next, racing.join())
        });
        raced.map_err(|_| CheckDifference::new("an append panicked"))??;
        let mut next = next?;
        next.write(1)?;
        let behind = tail(&journal, next.leadership.head.0, usize::MAX)?;
        let terms: Vec<_> = behind.iter().map(|batch| batch.term).collect();
        expect_same("the terms after the head of the won term", &terms, &vec![next.term()])?;
        next.resign()?;
    }
    Ok(())
}

struct CampaignRace {
    /// Both sides are ready.
    set_out: Barrier,
    /// The next term is won, or the campaign has failed.
    won: AtomicBool,
}

impl CampaignRace {
    /// Appends until it is refused, which must happen once the next term is won.
    fn write_until_refused(&self, mut leader: JournalTestLeader) -> CheckResult {
        self.set_out.wait();
        loop {
            let won = self.won.load(Ordering::SeqCst);
            let batch = leader.batch(1);
            match append(&leader.journal, batch) {
                Ok(_) if won => {
                    return Err(CheckDifference(format!(
                        "{} writes after it passed",
                        leader.term()
                    )));
                }
                Ok(position) => leader.head = position,
                Err(StoreError::Stale { .. }) => return Ok(()),
                Err(other) => return Err(other.into()),
            }
        }
    }
}
