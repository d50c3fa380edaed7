//! Series of faults: situations that faults drawn one by one seldom make.
//!
//! They come from a generator of their own, so that a new series changes nothing else in a schedule.

use windlass_core::engine::StoreHistory;

use super::rng::Rng;
use super::schedule::{Fault, FaultKind, RunSketch};

/// How many of a thousand schedules have a series.
const PER_MILLE: u64 = 350;

/// What keeps this generator apart from that of the rest of the schedule.
const OWN: u64 = 0x5e71_e5fa_0175_0001;

/// The series of a schedule, if it has one. What must not run beside itself runs long there.
pub(super) fn series(
    seed: u64,
    (leaders, workers): (usize, usize),
    runs: &mut [RunSketch],
    heals_at: u64,
) -> Vec<Fault> {
    let mut rng = Rng::new(seed ^ OWN);
    let mut list = clocks_are_set(&mut rng, workers, heals_at);
    if !rng.chance(PER_MILLE) {
        return list;
    }
    for run in runs {
        last_longer(&mut rng, run);
    }
    let at = rng.range(3_000, heals_at.saturating_sub(15_000).max(10_000));
    list.extend(match rng.below(5) {
        0 => lost_grants(&mut rng, at),
        1 => flapping(&mut rng, at, leaders),
        2 => island(&mut rng, at),
        3 => leaps(&mut rng, at, leaders),
        _ => {
            let grants = lost_grants(&mut rng, at);
            grants.into_iter().chain(leaps(&mut rng, at, leaders)).collect()
        }
    });
    list
}

/// How far a clock is set: by seconds, hours or days, forward or back.
fn jump(rng: &mut Rng) -> i64 {
    let longest = rng.pick(&[60_000, 4 * 3_600_000, 72 * 3_600_000]);
    let by = rng.range(1_000, longest).cast_signed();
    if rng.chance(500) { by } else { -by }
}

/// Clocks of the store and of hosts are set now and then; of a host that starts its worker anew afterwards.
fn clocks_are_set(rng: &mut Rng, workers: usize, heals_at: u64) -> Vec<Fault> {
    let mut list = Vec::new();
    for _ in 0..rng.below(3) {
        let what = FaultKind::StoreClockJumps(jump(rng));
        list.push(Fault { at: rng.below(heals_at), lasts: 1, what });
    }
    if rng.chance(200) {
        let (worker, at) = (rng.index(workers), rng.range(2_000, heals_at));
        let what = FaultKind::HostClockJumps(worker, jump(rng));
        list.push(Fault { at: at - 1, lasts: 1, what });
        let (lasts, what) = (rng.range(100, 4_000), FaultKind::WorkerRestart(worker));
        list.push(Fault { at, lasts, what });
    }
    list
}

/// The store's clock is set forward between leaders that change fast, while workers that hold something are cut off.
fn leaps(rng: &mut Rng, at: u64, leaders: usize) -> Vec<Fault> {
    let (turns, pause) = (rng.range(8, 16), rng.range(1_500, 3_000));
    let by = rng.range(15_000, 3_600_000).cast_signed();
    let cut = Fault { at, lasts: rng.range(20_000, 30_000), what: FaultKind::HoldersCut };
    let turn = |turn| {
        let at = at + 500 + turn * pause;
        let jump = Fault { at, lasts: 1, what: FaultKind::StoreClockJumps(by) };
        let change =
            move |it| Fault { at: at + 50, lasts: pause / 2, what: FaultKind::HandOver(it) };
        std::iter::once(jump).chain((0..leaders).map(change))
    };
    std::iter::once(cut).chain((0..turns).flat_map(turn)).collect()
}

/// The first two steps of a run that must not run beside themselves take longer than leases last.
fn last_longer(rng: &mut Rng, run: &mut RunSketch) {
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

/// The store loses what it granted last, while the workers that it was granted to hear of nothing.
fn lost_grants(rng: &mut Rng, at: u64) -> Vec<Fault> {
    let history = rng.pick(&[StoreHistory::Unproven, StoreHistory::Lost]);
    vec![
        Fault { at, lasts: rng.range(10_000, 25_000), what: FaultKind::HoldersCut },
        Fault { at: at + rng.below(300), lasts: 1, what: FaultKind::RollBack(0, history) },
    ]
}

/// Leaders change faster than leases end, while workers that hold something cannot present it.
fn flapping(rng: &mut Rng, at: u64, leaders: usize) -> Vec<Fault> {
    let (turns, pause) = (rng.range(12, 20), rng.range(2_000, 4_500));
    let cut = Fault { at, lasts: rng.range(40_000, 60_000), what: FaultKind::HoldersCut };
    // Which of them leads is not known here: each is asked, and the others have nothing to hand over.
    let hand_over = |turn| {
        let at = at + 500 + turn * pause;
        (0..leaders).map(move |it| Fault { at, lasts: pause / 2, what: FaultKind::HandOver(it) })
    };
    std::iter::once(cut).chain((0..turns).flat_map(hand_over)).collect()
}

/// The leader does not reach the store, and workers that hold something reach this leader alone.
fn island(rng: &mut Rng, at: u64) -> Vec<Fault> {
    vec![Fault { at, lasts: rng.range(20_000, 40_000), what: FaultKind::Island }]
}
