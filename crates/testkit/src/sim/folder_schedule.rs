//! Schedules of several processes in one folder, as several `windlass run` have it: each may lead, and each has a worker
//! that runs the steps of its own runs.

use windlass_core::engine::CancelLevel;
use windlass_core::id::StepIx;
use windlass_core::requirement::WorkerScope;

use super::clock::DriftingClock;
use super::plans;
use super::rng::SimRng;
use super::schedule::{
    CrashPoint, FaultKind, NetworkConditions, Schedule, ScheduledFault, ScheduledRun,
    ScheduledWorker, SimMode,
};

/// How many of a thousand schedules are of a folder.
const FOLDER_PER_MILLE: u64 = 200;

/// Keeps this generator apart from those of the other schedules.
const FOLDER_SEED_SALT: u64 = 0xf01d_e400_0000_0001;

/// The time within which faults begin. Most steps run in it.
const FAULTS_WITHIN: u64 = 25_000;

/// Returns the schedule of a seed, if it is one of a folder.
pub(super) fn folder_schedule(seed: u64) -> Option<Schedule> {
    let mut rng = SimRng::new(seed ^ FOLDER_SEED_SALT);
    if !rng.chance(FOLDER_PER_MILLE) {
        return None;
    }
    let processes = rng.index(3) + 2;
    let heals_at = rng.range(30_000, 70_000);
    let runs = runs(&mut rng, processes);
    let faults = faults(&mut rng, (processes, runs.len()), heals_at);
    // The clock of one host drives all processes.
    let clock = DriftingClock { offset: rng.below(1_000_000), drift_per_mille: 0 };
    Some(Schedule {
        seed,
        mode: SimMode::Folder,
        start_failures_per_mille: 0,
        ttls: vec![5_000; processes],
        decision_cost: rng.pick(&[0, 0, 1]),
        leaders: vec![clock; processes],
        workers: (0..processes).map(|process| worker(&mut rng, clock, process)).collect(),
        runs,
        network: NetworkConditions {
            loss_per_mille: 0,
            duplicates_per_mille: 0,
            delay_max: rng.pick(&[3, 30]),
            long_delays_per_mille: 0,
        },
        faults,
        heals_at,
    })
}

fn worker(rng: &mut SimRng, clock: DriftingClock, process: usize) -> ScheduledWorker {
    ScheduledWorker {
        clock,
        labels: plans::LABELS.to_vec(),
        scope: WorkerScope::OwnRuns,
        slots: u32::try_from(rng.range(1, 3)).expect("a few slots"),
        own_of: Some(process),
        joins_at: rng.below(2_000),
        clone_of: None,
        is_plain: false,
    }
}

/// Returns one or two runs of each process, and sometimes one that is started inside a step of another.
fn runs(rng: &mut SimRng, processes: usize) -> Vec<ScheduledRun> {
    let mut runs = Vec::new();
    for process in 0..processes {
        for number in 0..rng.range(1, 2) {
            let run = plans::folder_run(rng, number);
            runs.push(ScheduledRun { owner: Some(process), ..run });
        }
    }
    if rng.chance(500) {
        runs.extend(nested(rng, &runs, processes));
    }
    runs
}

/// Returns a run that is started inside a step with a lock. It belongs to another process, which has its own slots.
fn nested(rng: &mut SimRng, runs: &[ScheduledRun], processes: usize) -> Option<ScheduledRun> {
    let outer = rng.index(runs.len());
    let locking = |step: &StepIx| {
        let spec = runs[outer].plan.spec(*step);
        spec.is_some_and(|spec| !spec.locks.is_empty() && spec.timeout.is_none())
    };
    let step = runs[outer].plan.nodes().find(locking)?;
    let lock = runs[outer].plan.spec(step)?.locks.first()?.name.clone();
    let owner = runs[outer].owner.map(|owner| (owner + 1) % processes);
    Some(ScheduledRun { owner, inside: Some((outer, step)), ..plans::nested_run(rng, &lock) })
}

fn faults(
    rng: &mut SimRng,
    (processes, runs): (usize, usize),
    heals_at: u64,
) -> Vec<ScheduledFault> {
    let mut list = Vec::new();
    for _ in 0..rng.range(3, 9) {
        let (at, mut lasts) = (rng.below(FAULTS_WITHIN), rng.range(100, 6_000));
        let process = rng.index(processes);
        let kind = fault_kind(rng, (process, runs));
        if matches!(kind, FaultKind::ProcessKilled(_) | FaultKind::LeaderCrash(_))
            && rng.chance(300)
        {
            // No process takes its place before the end of the faults.
            lasts = heals_at.saturating_sub(at).max(lasts);
        }
        list.push(ScheduledFault { at, lasts, kind });
    }
    list.sort_by_key(|fault| fault.at);
    list
}

/// Returns a fault of one process; its worker has the same number.
fn fault_kind(rng: &mut SimRng, (process, runs): (usize, usize)) -> FaultKind {
    match rng.below(18) {
        0..=2 => FaultKind::LeaderCrash(process),
        3..=6 => FaultKind::ProcessKilled(process),
        7 => FaultKind::LeaderCrashAt(process, rng.pick(&CrashPoint::ALL)),
        8 => FaultKind::LeaderFreeze(process),
        9 => FaultKind::GuardHang(process),
        10 => FaultKind::GuardDiesAlone(process),
        11 => FaultKind::HungStarts(process),
        12 => FaultKind::HandOver(process),
        13 => FaultKind::CutBoth(process),
        14 => FaultKind::JournalUnknown,
        15 => FaultKind::WorkerFreeze(process),
        16 => FaultKind::JournalSlow,
        _ => FaultKind::Cancel(rng.index(runs), rng.pick(&[CancelLevel::Stop, CancelLevel::Kill])),
    }
}
