//! Schedules of the local mode: one process leads and works, as `windlass run` does. Other workers may have joined it.

use windlass_core::engine::CancelLevel;
use windlass_core::requirement::WorkerScope;

use super::clock::DriftingClock;
use super::plans;
use super::rng::SimRng;
use super::schedule::{
    CrashPoint, FaultKind, NetworkConditions, Schedule, ScheduledFault, ScheduledWorker, SimMode,
};

/// How many of a thousand schedules use the local mode.
const LOCAL_PER_MILLE: u64 = 150;

/// Keeps this generator apart from those of the other schedules.
const LOCAL_SEED_SALT: u64 = 0x10ca_1000_0000_0001;

/// The time within which faults begin. Most steps run in it.
const FAULTS_WITHIN: u64 = 20_000;

/// Returns the schedule of a seed, if it uses the local mode.
pub(super) fn local_schedule(seed: u64) -> Option<Schedule> {
    let mut rng = SimRng::new(seed ^ LOCAL_SEED_SALT);
    if !rng.chance(LOCAL_PER_MILLE) {
        return None;
    }
    let runs = plans::local_runs(&mut rng);
    let joined = if rng.chance(400) { rng.range(1, 2) } else { 0 };
    let workers: Vec<ScheduledWorker> = (0..=joined).map(|at| worker(&mut rng, at == 0)).collect();
    let heals_at = rng.range(20_000, 60_000);
    let faults = faults(&mut rng, (workers.len(), runs.len()));
    Some(Schedule {
        seed,
        mode: SimMode::Local,
        start_failures_per_mille: rng.pick(&[0, 0, 50, 200]),
        ttls: vec![rng.pick(&[5_000, 10_000])],
        decision_cost: rng.pick(&[0, 0, 1]),
        leaders: vec![clock(&mut rng)],
        workers,
        runs,
        network: NetworkConditions {
            loss_per_mille: rng.below(100),
            duplicates_per_mille: rng.below(50),
            delay_max: rng.pick(&[3, 30, 300]),
            long_delays_per_mille: 0,
        },
        faults,
        heals_at,
    })
}

fn clock(rng: &mut SimRng) -> DriftingClock {
    let drift_per_mille = rng.below(61).cast_signed() - 30;
    DriftingClock { offset: rng.below(1_000_000), drift_per_mille }
}

/// Returns the worker in the leader's process, or one that has joined it.
fn worker(rng: &mut SimRng, is_own: bool) -> ScheduledWorker {
    ScheduledWorker {
        clock: clock(rng),
        labels: plans::LABELS.to_vec(),
        scope: WorkerScope::AllRuns,
        slots: u32::try_from(rng.range(1, 4)).expect("a few slots"),
        own_of: is_own.then_some(0),
        joins_at: rng.below(if is_own { 300 } else { 10_000 }),
        clone_of: None,
        is_plain: false,
    }
}

fn faults(rng: &mut SimRng, (workers, runs): (usize, usize)) -> Vec<ScheduledFault> {
    let mut list = Vec::new();
    for _ in 0..rng.range(3, 9) {
        let (at, lasts) = (rng.below(FAULTS_WITHIN), rng.range(100, 6_000));
        let other = rng.index(workers);
        let number = rng.below(15);
        if number == 0 {
            list.extend(stopped_guard_of_dead_worker(rng, at));
            continue;
        }
        let kind = fault_kind(rng, number, (other, runs));
        list.push(ScheduledFault { at, lasts, kind });
    }
    list.sort_by_key(|fault| fault.at);
    list
}

/// Returns the fault of this number. Worker 0 runs in the process of the leader.
fn fault_kind(rng: &mut SimRng, number: u64, (worker, runs): (usize, usize)) -> FaultKind {
    match number {
        1 | 2 => FaultKind::LeaderCrash(0),
        3 => FaultKind::LeaderCrashAt(0, rng.pick(&CrashPoint::ALL)),
        4 | 5 => FaultKind::LeaderFreeze(0),
        6 => FaultKind::GuardHang(0),
        7 => FaultKind::GuardDiesAlone(0),
        8 => FaultKind::GuardCrash(0),
        9 => FaultKind::HungStarts(0),
        10 => FaultKind::JournalSlow,
        11 => FaultKind::JournalUnknown,
        12 if worker > 0 => FaultKind::CutBoth(worker),
        13 if worker > 0 => FaultKind::WorkerCrash(worker),
        _ => FaultKind::Cancel(rng.index(runs), rng.pick(&[CancelLevel::Stop, CancelLevel::Kill])),
    }
}

/// Stops the guard, kills its worker, and starts the next process long before the guard resumes.
fn stopped_guard_of_dead_worker(rng: &mut SimRng, at: u64) -> Vec<ScheduledFault> {
    let hang = FaultKind::GuardHang(0);
    let after = at + rng.range(10, 400);
    vec![
        ScheduledFault { at, lasts: rng.range(15_000, 40_000), kind: hang },
        ScheduledFault { at: after, lasts: 300, kind: FaultKind::LeaderCrash(0) },
    ]
}
