//! Series of faults: situations that independently drawn faults seldom cause.
//!
//! They come from a generator of their own, so that a new series changes nothing else in a schedule.

use windlass_core::engine::StoreHistory;

use super::rng::SimRng;
use super::schedule::{FaultKind, ScheduledFault, ScheduledRun};

/// How many of a thousand schedules have a series.
const SERIES_PER_MILLE: u64 = 350;

/// Separates this generator from that of the rest of the schedule.
const SERIES_SEED_SALT: u64 = 0x5e71_e5fa_0175_0001;

/// How many of a thousand schedules lose the beginning of their store.
const LOST_BEGINNING_PER_MILLE: u64 = 30;

/// Separates this generator from the others.
const LOST_BEGINNING_SEED_SALT: u64 = 0x5e71_e5fa_0175_0002;

/// More batches than a store has after a few seconds.
const ALL_BATCHES: u64 = 1_000;

/// Returns the series of a schedule, if it has one. Exclusive steps, which must not run beside themselves, run long in
/// it.
pub(super) fn series(
    seed: u64,
    (leaders, workers): (usize, usize),
    runs: &mut [ScheduledRun],
    heals_at: u64,
) -> Vec<ScheduledFault> {
    let mut rng = SimRng::new(seed ^ SERIES_SEED_SALT);
    let mut list = clocks_are_set(&mut rng, workers, heals_at);
    if !rng.chance(SERIES_PER_MILLE) {
        return list;
    }
    for run in runs {
        lengthen_exclusive_steps(&mut rng, run);
    }
    let at = rng.range(3_000, heals_at.saturating_sub(15_000).max(10_000));
    list.extend(match rng.below(5) {
        0 => lost_grants(&mut rng, at),
        1 => flapping(&mut rng, at, leaders),
        2 => partition(&mut rng, at),
        3 => store_clock_jumps_forward(&mut rng, at, leaders),
        _ => {
            let grants = lost_grants(&mut rng, at);
            grants.into_iter().chain(store_clock_jumps_forward(&mut rng, at, leaders)).collect()
        }
    });
    list
}

/// Returns by how much a clock is set: by seconds, hours or days, forward or back.
fn random_clock_jump(rng: &mut SimRng) -> i64 {
    let longest = rng.pick(&[60_000, 4 * 3_600_000, 72 * 3_600_000]);
    let by = rng.range(1_000, longest).cast_signed();
    if rng.chance(500) { by } else { -by }
}

/// Sets clocks of the store and of hosts now and then; some of the hosts start their worker again afterwards.
fn clocks_are_set(rng: &mut SimRng, workers: usize, heals_at: u64) -> Vec<ScheduledFault> {
    let mut list = Vec::new();
    for _ in 0..rng.below(3) {
        let what = FaultKind::StoreClockJumps(random_clock_jump(rng));
        list.push(ScheduledFault { at: rng.below(heals_at), lasts: 1, kind: what });
    }
    if rng.chance(200) {
        let (worker, at) = (rng.index(workers), rng.range(2_000, heals_at));
        let what = FaultKind::HostClockJumps(worker, random_clock_jump(rng));
        list.push(ScheduledFault { at: at - 1, lasts: 1, kind: what });
        let (lasts, what) = (rng.range(100, 4_000), FaultKind::WorkerRestart(worker));
        list.push(ScheduledFault { at, lasts, kind: what });
    }
    list
}

/// Sets the store's clock forward between leaders that change fast, while workers with leases are cut off.
fn store_clock_jumps_forward(rng: &mut SimRng, at: u64, leaders: usize) -> Vec<ScheduledFault> {
    let (turns, pause) = (rng.range(8, 16), rng.range(1_500, 3_000));
    let by = rng.range(15_000, 3_600_000).cast_signed();
    let cut = ScheduledFault { at, lasts: rng.range(20_000, 30_000), kind: FaultKind::HoldersCut };
    let turn = |turn| {
        let at = at + 500 + turn * pause;
        let jump = ScheduledFault { at, lasts: 1, kind: FaultKind::StoreClockJumps(by) };
        let change = move |it| ScheduledFault {
            at: at + 50,
            lasts: pause / 2,
            kind: FaultKind::HandOver(it),
        };
        std::iter::once(jump).chain((0..leaders).map(change))
    };
    std::iter::once(cut).chain((0..turns).flat_map(turn)).collect()
}

/// Makes the first two exclusive steps of a run take longer than leases last.
fn lengthen_exclusive_steps(rng: &mut SimRng, run: &mut ScheduledRun) {
    let plan = &run.plan;
    let exclusive = plan.nodes().filter(|node| {
        let spec = plan.spec(*node);
        spec.is_some_and(|spec| spec.stops_on_lost_contact() && spec.timeout.is_none())
    });
    let mut facts = run.facts.to_vec();
    for node in exclusive.take(2) {
        facts[node.0 as usize].takes = rng.range(15_000, 60_000);
    }
    run.facts = facts.into();
}

/// Has the store lose its last grants, while the workers that received them are cut off.
fn lost_grants(rng: &mut SimRng, at: u64) -> Vec<ScheduledFault> {
    let history = rng.pick(&[StoreHistory::Unproven, StoreHistory::Lost]);
    vec![
        ScheduledFault { at, lasts: rng.range(10_000, 25_000), kind: FaultKind::HoldersCut },
        ScheduledFault { at: at + rng.below(300), lasts: 1, kind: FaultKind::RollBack(0, history) },
    ]
}

/// Changes leaders faster than leases end, while workers with leases cannot report them.
fn flapping(rng: &mut SimRng, at: u64, leaders: usize) -> Vec<ScheduledFault> {
    let (turns, pause) = (rng.range(12, 20), rng.range(2_000, 4_500));
    let cut = ScheduledFault { at, lasts: rng.range(40_000, 60_000), kind: FaultKind::HoldersCut };
    // The schedule does not know the leader: each is asked, and the others have nothing to hand over.
    let hand_over = |turn| {
        let at = at + 500 + turn * pause;
        (0..leaders).map(move |it| ScheduledFault {
            at,
            lasts: pause / 2,
            kind: FaultKind::HandOver(it),
        })
    };
    std::iter::once(cut).chain((0..turns).flat_map(hand_over)).collect()
}

/// Cuts the leader off from the store, while workers with leases reach this leader alone.
fn partition(rng: &mut SimRng, at: u64) -> Vec<ScheduledFault> {
    vec![ScheduledFault { at, lasts: rng.range(20_000, 40_000), kind: FaultKind::Partition }]
}

/// Has the store lose everything since the first submission, the first registrations and grants included, while the
/// workers that received these grants are cut off. No run is submitted in between, because answers to clients remain.
pub(super) fn lost_beginning(seed: u64, runs: &mut [ScheduledRun]) -> Vec<ScheduledFault> {
    let mut rng = SimRng::new(seed ^ LOST_BEGINNING_SEED_SALT);
    if !rng.chance(LOST_BEGINNING_PER_MILLE) {
        return Vec::new();
    }
    let at = rng.range(2_000, 7_000);
    for (place, run) in runs.iter_mut().enumerate() {
        lengthen_exclusive_steps(&mut rng, run);
        run.at = if place == 0 { 0 } else { run.at.max(at + 5_000) };
    }
    let lost = FaultKind::RollBack(ALL_BATCHES, StoreHistory::Unproven);
    vec![
        ScheduledFault { at, lasts: rng.range(15_000, 30_000), kind: FaultKind::HoldersCut },
        ScheduledFault { at: at + rng.below(300), lasts: 1, kind: lost },
    ]
}
