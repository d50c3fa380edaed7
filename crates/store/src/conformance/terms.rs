//! One leader at a time, and nothing is written under a term that has passed.

use std::sync::{Arc, Barrier};
use std::thread;

use super::harness::{FreshStorage, JournalHandle};
use super::journal_fixtures::{
    JournalTestLeader, append, block_on, campaign, candidate, expect_batches,
};
use super::report::{CheckDifference, CheckResult, expect_same, expect_true};
use crate::db::StoreError;
use crate::journal::{CampaignOutcome, LeaderCandidate};

/// While one node leads, the campaigns of others fail.
pub(super) fn of_two_candidates_one_wins(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    for _ in 0..3 {
        let lost = matches!(campaign(&rival, "beta")?, CampaignOutcome::LedBy { .. });
        expect_true("a campaign was won while another leads", lost)?;
    }
    let first = leader.write(1)?;
    expect_batches(&journal, &[first])
}

/// Of concurrent candidates exactly one wins.
pub(super) fn of_candidates_at_once_one_wins(fresh: &FreshStorage<'_>) -> CheckResult {
    const AT_ONCE: usize = 8;
    let harness = fresh();
    let handles: Vec<JournalHandle> = (0..AT_ONCE).map(|_| harness.open()).collect();
    let start = Barrier::new(AT_ONCE);
    let answers = thread::scope(|scope| {
        let run = |(at, journal): (usize, &JournalHandle)| {
            let (start, journal) = (&start, Arc::clone(journal));
            scope.spawn(move || {
                start.wait();
                campaign(&journal, &format!("node-{at}"))
            })
        };
        let threads: Vec<_> = handles.iter().enumerate().map(run).collect();
        let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.collect::<Result<Vec<_>, _>>()
    });
    let answers = answers.map_err(|_| CheckDifference::new("a campaign panicked"))?;
    let answers = answers.into_iter().collect::<Result<Vec<CampaignOutcome>, StoreError>>()?;
    let won = answers.iter().filter(|answer| matches!(answer, CampaignOutcome::Won(_))).count();
    expect_same("campaigns won at once", &won, &1)
}

/// The loser of a campaign gets the leader's name, and its address for clients.
pub(super) fn refused_candidate_learns_the_leader(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let leader = JournalTestLeader::win(&journal, "alpha")?;
    let is_led_by = |name: &str, candidate: LeaderCandidate| match campaign(&rival, "gamma")? {
        CampaignOutcome::LedBy { node, address, .. } => {
            expect_same("the leader", &(node, address), &(candidate.node, candidate.address))
        }
        CampaignOutcome::Won(_) => {
            Err(CheckDifference(format!("a campaign was won while {name} leads")))
        }
    };
    is_led_by("alpha", candidate("alpha"))?;
    leader.resign()?;
    let alone = LeaderCandidate { node: "beta".to_owned(), address: None };
    let won = block_on(journal.campaign(alone.clone()))?;
    expect_true("a campaign after a resignation is won", matches!(won, CampaignOutcome::Won(_)))?;
    is_led_by("beta", alone)
}

/// After a leader has resigned the next campaign of any node wins at once, under a greater term.
pub(super) fn a_term_given_up_is_won_at_once(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut before = None;
    for (handle, node) in [(&journal, "alpha"), (&rival, "beta"), (&rival, "beta")] {
        let leader = JournalTestLeader::win(handle, node)?;
        let grows = before.is_none_or(|before| leader.term() > before);
        expect_true(&format!("{} follows {before:?}", leader.term()), grows)?;
        before = Some(leader.term());
        leader.resign()?;
    }
    Ok(())
}

/// A term can be renewed as long as no other node has won.
pub(super) fn a_leader_keeps_its_term(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let leader = JournalTestLeader::win(&journal, "alpha")?;
    block_on(journal.renew(leader.term()))?;
    campaign(&rival, "beta")?;
    Ok(block_on(journal.renew(leader.term()))?)
}

/// A term that has passed cannot be renewed, and the error has the newest term.
pub(super) fn a_passed_term_is_not_renewed(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let leader = JournalTestLeader::win(&journal, "alpha")?;
    leader.resign()?;
    let next = JournalTestLeader::win(&rival, "beta")?;
    let stale = StoreError::Stale { term: leader.term(), current: next.term() };
    expect_same("the answer", &block_on(journal.renew(leader.term())), &Err(stale))
}

/// A leader whose term has passed cannot write, even after the current head, and the error has the newest term.
pub(super) fn a_passed_term_writes_nothing(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let first = leader.write(2)?;
    let late = leader.batch(1);
    leader.resign()?;
    let mut next = JournalTestLeader::win(&rival, "beta")?;
    let stale = StoreError::Stale { term: leader.term(), current: next.term() };
    expect_same(
        "the answer before others wrote",
        &append(&journal, late.clone()),
        &Err(stale.clone()),
    )?;
    expect_batches(&journal, std::slice::from_ref(&first))?;
    let second = next.write(1)?;
    expect_same("the answer after the old head", &append(&journal, late), &Err(stale.clone()))?;
    leader.head = next.head;
    let behind_head = leader.batch(1);
    expect_same("the answer after the new head", &append(&journal, behind_head), &Err(stale))?;
    expect_batches(&journal, &[first, second])
}

/// Resigning a term that has passed is no error, and does not affect the current leader.
pub(super) fn a_passed_term_is_given_up_without_effect(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let (journal, rival) = (harness.open(), harness.open());
    let leader = JournalTestLeader::win(&journal, "alpha")?;
    leader.resign()?;
    let mut next = JournalTestLeader::win(&rival, "beta")?;
    leader.resign()?;
    block_on(rival.renew(next.term()))?;
    let first = next.write(1)?;
    expect_batches(&journal, &[first])
}
