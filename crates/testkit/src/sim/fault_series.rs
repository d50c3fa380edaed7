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
    leaders: usize,
    runs: &mut [RunSketch],
    heals_at: u64,
) -> Vec<Fault> {
    let mut rng = Rng::new(seed ^ OWN);
    if !rng.chance(PER_MILLE) {
        return Vec::new();
    }
    for run in runs {
        last_longer(&mut rng, run);
    }
    let at = rng.range(3_000, heals_at.saturating_sub(15_000).max(10_000));
    match rng.below(3) {
        0 => lost_grants(&mut rng, at),
        1 => flapping(&mut rng, at, leaders),
        _ => island(&mut rng, at),
    }
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
