//! The schedule of one simulation, as plain data.

use std::fmt;
use std::sync::Arc;

use windlass_core::engine::{CancelLevel, RunOptions, StoreHistory};
use windlass_core::id::{StepIx, WorkerId};
use windlass_core::plan::{Plan, StepSpec};
use windlass_core::requirement::WorkerScope;

use super::clock::DriftingClock;
use super::fault_series::{lost_beginning, series};
use super::folder_schedule::folder_schedule;
use super::local_schedule::local_schedule;
use super::plain_worker::{PlainFault, add_plain_workers};
use super::plans::{self, StepBehavior};
use super::rng::SimRng;

/// The kind of processes in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimMode {
    /// Leaders and workers on many hosts.
    Cluster,
    /// One process leads and works, and its guard has a start queue.
    Local,
    /// Each leader is a process of one host with a worker of its own, and all share a folder.
    Folder,
}

/// A whole simulation: the same schedule always plays the same.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The seed of the schedule, and of the random source inside it.
    pub seed: u64,
    /// The lease duration under each leader.
    pub(crate) ttls: Vec<u64>,
    /// How long a leader takes for a decision.
    pub(crate) decision_cost: u64,
    pub(crate) mode: SimMode,
    /// How many of a thousand starts of a start queue fail.
    pub(crate) start_failures_per_mille: u64,
    pub(crate) leaders: Vec<DriftingClock>,
    pub(crate) workers: Vec<ScheduledWorker>,
    pub(crate) runs: Vec<ScheduledRun>,
    pub(crate) network: NetworkConditions,
    pub(crate) faults: Vec<ScheduledFault>,
    /// When the network heals and no more faults begin.
    pub(crate) heals_at: u64,
}

/// A worker of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct ScheduledWorker {
    pub(crate) clock: DriftingClock,
    pub(crate) labels: Vec<&'static str>,
    pub(crate) slots: u32,
    /// The runs that it serves.
    pub(crate) scope: WorkerScope,
    /// The leader in whose process it runs.
    pub(crate) own_of: Option<usize>,
    pub(crate) joins_at: u64,
    /// The worker of which this is another host. A [`FaultKind::HostCloned`] starts it.
    pub(crate) clone_of: Option<usize>,
    /// True if it sends plain requests over HTTP and has no guard.
    pub(crate) is_plain: bool,
}

/// A run of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct ScheduledRun {
    pub(crate) at: u64,
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: RunOptions,
    pub(crate) facts: Arc<[StepBehavior]>,
    /// Steps whose outcome is reused from an earlier run.
    pub(crate) reused: Vec<u32>,
    /// The worker of the process that starts it, if it belongs to one.
    pub(crate) owner: Option<usize>,
    /// The run and the step inside which it is started.
    pub(crate) inside: Option<(usize, StepIx)>,
}

/// The effect of the link on messages until it heals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetworkConditions {
    pub(crate) loss_per_mille: u64,
    pub(crate) duplicates_per_mille: u64,
    pub(crate) delay_max: u64,
    /// How many of a thousand messages take very much longer than the others.
    pub(crate) long_delays_per_mille: u64,
}

impl NetworkConditions {
    /// Returns whether messages are lost, duplicated or reordered by long delays.
    pub(crate) const fn is_unreliable(self) -> bool {
        self.loss_per_mille + self.duplicates_per_mille + self.long_delays_per_mille > 0
    }

    /// Returns the same delays without losses.
    pub(crate) const fn without_losses(self) -> Self {
        let delay_max = self.delay_max;
        Self { loss_per_mille: 0, duplicates_per_mille: 0, delay_max, long_delays_per_mille: 0 }
    }
}

/// A fault of a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduledFault {
    pub(crate) at: u64,
    pub(crate) lasts: u64,
    pub(crate) kind: FaultKind,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FaultKind {
    LeaderCrash(usize),
    /// The leader crashes when it gets to this point, if it does so while the fault lasts.
    LeaderCrashAt(usize, CrashPoint),
    LeaderFreeze(usize),
    /// The leader, if it leads, makes its decisions durable, resigns, and asks for no term while the fault lasts.
    HandOver(usize),
    /// The worker's process dies; its guard survives, ends the children and reports.
    WorkerCrash(usize),
    /// Worker, guard and children die together.
    NodeCrash(usize),
    /// The worker's host is cut off, and another one starts as the same worker, with a copy of the state directory.
    /// Guard and children of the first host continue. When this ends, that host learns that it is superseded.
    HostCopied(usize),
    /// The worker's host is copied while it runs, and the copy starts as the same worker. Both have the same credential
    /// and know nothing of each other. When this ends, the copy (the second number) is switched off.
    HostCloned(usize, usize),
    /// Worker and guard die together without a report; each tether ends its step.
    GuardCrash(usize),
    /// The worker's guard dies and the worker lives on until it sees that; each tether ends its step.
    GuardDiesAlone(usize),
    /// The worker's guard stops; worker, tethers and children continue. Messages through the guard wait.
    GuardHang(usize),
    /// Starts on the worker's host do not return while this lasts: a file system does not answer.
    HungStarts(usize),
    /// The worker's process stops; guard and children continue.
    WorkerFreeze(usize),
    /// The whole node stops.
    NodeFreeze(usize),
    /// So many clients send requests to the leader that its inbox is never empty.
    Crowd(usize),
    /// This leader alone does not reach the store; some of its operations take effect all the same.
    StoreCut(usize),
    /// The leader does not reach the store at all, and workers that run an exclusive step reach no other leader. An
    /// exclusive step must not run beside itself. The fault begins when such a step runs.
    Partition,
    CutUp(usize),
    CutDown(usize),
    CutBoth(usize),
    /// Every worker is cut off.
    CutAll,
    /// Every worker that runs an exclusive step is cut off. The fault begins when such a step runs.
    HoldersCut,
    /// Appends fail without effect.
    JournalRefuses,
    /// Appends fail, some of them after they took effect.
    JournalUnknown,
    /// Every operation of the store takes seconds.
    JournalSlow,
    /// No operation reaches the store.
    JournalDown,
    /// The store's clock is set, by so many milliseconds.
    StoreClockJumps(i64),
    /// The clock of a worker's host is set, by so many milliseconds.
    HostClockJumps(usize, i64),
    /// The store returns to an earlier state, so many batches ago, and may or may not know that. Zero means the state
    /// before the newest grant of a running exclusive step; the fault waits for such a step.
    RollBack(u64, StoreHistory),
    Cancel(usize, CancelLevel),
    Drain(usize),
    /// The worker's credential was stolen and is revoked. The worker does not learn of it while this lasts, and the
    /// thief claims that no process of the worker is alive.
    Revoke(usize),
    /// A run is ended because the engine cannot decide on it.
    Condemn(usize),
    /// A lock is taken away from a lease that holds it.
    ForceRelease,
    /// A process in a folder is killed with its guard: its worker is gone without a report. It starts again in the end.
    ProcessKilled(usize),
    /// The worker is ordered to drain, and is started again when the fault ends.
    WorkerRestart(usize),
    Plain(usize, PlainFault),
}

/// The points between decision, durability and answer. A leader may crash at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    /// It has decided; the append is not sent.
    AfterDecide,
    /// The append is durable; the leader does not know that.
    AfterAppend,
    /// The leader knows; no other process does.
    BeforeReply,
}

impl CrashPoint {
    pub(crate) const ALL: [Self; 3] = [Self::AfterDecide, Self::AfterAppend, Self::BeforeReply];

    /// Returns the coverage mark of a crash there.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::AfterDecide => "crashed after decide",
            Self::AfterAppend => "crashed after append",
            Self::BeforeReply => "crashed before reply",
        }
    }
}

impl Schedule {
    /// Returns the schedule of a seed.
    pub fn new(seed: u64) -> Self {
        let folder = || folder_schedule(seed);
        local_schedule(seed).or_else(folder).unwrap_or_else(|| Self::of_cluster(seed))
    }

    fn of_cluster(seed: u64) -> Self {
        let mut rng = SimRng::new(seed);
        let leaders = if rng.chance(250) { 3 } else { 2 };
        let crowd = rng.chance(80);
        let workers = workers(&mut rng, leaders, crowd);
        let mut runs = plans::runs(&mut rng);
        let heals_at = rng.range(30_000, 120_000);
        let mut faults = faults(&mut rng, leaders, &workers, runs.len(), heals_at);
        if crowd {
            let at = rng.range(5_000, 20_000);
            faults.push(ScheduledFault {
                at,
                lasts: rng.range(20_000, 40_000),
                kind: FaultKind::CutAll,
            });
        }
        faults.extend(series(seed, (leaders, workers.len()), &mut runs, heals_at));
        faults.extend(lost_beginning(seed, &mut runs));
        let mut workers = workers;
        add_extra_faults(seed, heals_at, &mut workers, &mut faults);
        add_plain_workers(seed, heals_at, &mut workers, &mut faults);
        let decision_cost = busy_leaders(seed, (leaders, heals_at), &mut faults);
        let gust = rng.chance(500);
        Self {
            seed,
            ttls: ttls(&mut rng, leaders),
            decision_cost,
            mode: SimMode::Cluster,
            start_failures_per_mille: 0,
            leaders: (0..leaders).map(|_| clock(&mut rng)).collect(),
            workers,
            runs,
            network: NetworkConditions {
                loss_per_mille: if gust { rng.range(0, 250) } else { 0 },
                duplicates_per_mille: rng.range(0, 150),
                delay_max: rng.pick(&[3, 30, 300, 1_500]),
                long_delays_per_mille: rng.pick(&[0, 10, 60]),
            },
            faults,
            heals_at,
        }
    }

    pub(crate) fn is_local(&self) -> bool {
        self.mode == SimMode::Local
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.mode == SimMode::Folder
    }

    /// Returns the worker that a host is: a copy is the same worker.
    pub(crate) fn identity(&self, host: usize) -> WorkerId {
        WorkerId(self.workers[host].clone_of.unwrap_or(host) as u64)
    }

    /// Returns how long all its steps take one after the other, with every attempt that they may have.
    pub(crate) fn serial_work(&self) -> u64 {
        let of_run = |run: &ScheduledRun| -> u64 {
            let steps = run.plan.nodes().filter_map(|node| Some((node, run.plan.spec(node)?)));
            let of_step = |(node, spec): (StepIx, &StepSpec)| {
                let timeout =
                    spec.timeout.map_or(0, |timeout| (timeout + spec.kill_grace).as_millis());
                let longest = run.facts[node.0 as usize].takes.max(timeout);
                longest * (1 + u64::from(spec.retry.times))
            };
            steps.map(of_step).sum()
        };
        self.runs.iter().map(of_run).sum()
    }

    /// Returns the number of its faults.
    pub fn fault_count(&self) -> usize {
        self.faults.len()
    }

    /// Returns the number of its runs.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }
}

/// Returns lease durations: mostly one for all leaders, as it should be configured.
fn ttls(rng: &mut SimRng, leaders: usize) -> Vec<u64> {
    const TTLS: [u64; 3] = [5_000, 10_000, 15_000];
    let (common, differ) = (rng.pick(&TTLS), rng.chance(300));
    (0..leaders).map(|_| if differ { rng.pick(&TTLS) } else { common }).collect()
}

fn clock(rng: &mut SimRng) -> DriftingClock {
    DriftingClock {
        offset: rng.below(1_000_000),
        drift_per_mille: rng.below(61).cast_signed() - 30,
    }
}

fn workers(rng: &mut SimRng, leaders: usize, crowd: bool) -> Vec<ScheduledWorker> {
    let others = if crowd { rng.range(6, 9) } else { rng.range(3, 5) };
    let own = (0..leaders).map(Some);
    let homes: Vec<Option<usize>> = own.chain((0..others).map(|_| None)).collect();
    let sketch = |own_of: Option<usize>, rng: &mut SimRng| ScheduledWorker {
        clock: clock(rng),
        scope: scope(rng, own_of.is_some()),
        labels: plans::LABELS.into_iter().filter(|_| rng.chance(550)).collect(),
        slots: u32::try_from(rng.range(1, 3)).expect("a few slots"),
        own_of,
        joins_at: if rng.chance(700) { rng.below(1_000) } else { rng.below(20_000) },
        clone_of: None,
        is_plain: false,
    };
    homes.into_iter().map(|own_of| sketch(own_of, rng)).collect()
}

/// Returns the runs that a worker serves. Some leaders' own workers run only steps that are pinned to them.
fn scope(rng: &mut SimRng, own: bool) -> WorkerScope {
    if own && rng.chance(200) { WorkerScope::PinnedOnly } else { WorkerScope::AllRuns }
}

/// The faults that can dominate a schedule, by their number in [`faults`].
const MAIN_FAULTS: [u64; 19] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 21, 22, 23, 24];

fn faults(
    rng: &mut SimRng,
    leaders: usize,
    workers: &[ScheduledWorker],
    runs: usize,
    heals_at: u64,
) -> Vec<ScheduledFault> {
    let count = rng.range(5, 12);
    let favourite = rng.pick(&MAIN_FAULTS);
    let mut list = Vec::new();
    for _ in 0..count {
        let what = if rng.chance(400) { favourite } else { rng.below(29) };
        let (leader, worker) = (rng.index(leaders), rng.index(workers.len()));
        let what = fault_kind(rng, what, (leader, worker, runs));
        let lasts = if rng.chance(500) { rng.range(100, 4_000) } else { rng.range(4_000, 30_000) };
        let at = rng.below(heals_at);
        list.extend(with_silent_worker(rng, ScheduledFault { at, lasts, kind: what }, worker));
    }
    list.sort_by_key(|fault| fault.at);
    list
}

/// Adds faults that only some schedules have, from a random source of their own.
fn add_extra_faults(
    seed: u64,
    heals_at: u64,
    workers: &mut Vec<ScheduledWorker>,
    faults: &mut Vec<ScheduledFault>,
) {
    let mut rng = SimRng::new(seed ^ 0x6d6f_7265);
    let hosts = workers.len();
    let guards = if rng.chance(200) { rng.range(1, 3) } else { 0 };
    for _ in 0..guards {
        let (at, lasts) = (rng.below(heals_at), rng.range(100, 4_000));
        faults.push(ScheduledFault {
            at,
            lasts,
            kind: FaultKind::GuardDiesAlone(rng.index(hosts)),
        });
    }
    let worker = rng.index(hosts);
    // The worker in a leader's process has no identity of its own that could be copied.
    if rng.chance(120) && workers[worker].own_of.is_none() {
        let (at, lasts) = (rng.below(heals_at), rng.range(4_000, 40_000));
        workers.push(ScheduledWorker { clone_of: Some(worker), ..workers[worker].clone() });
        faults.push(ScheduledFault { at, lasts, kind: FaultKind::HostCloned(worker, hosts) });
    }
    faults.sort_by_key(|fault| fault.at);
}

/// Returns how long a leader takes for a decision: no time in most schedules. Adds a crowd of clients for some leaders.
fn busy_leaders(
    seed: u64,
    (leaders, heals_at): (usize, u64),
    faults: &mut Vec<ScheduledFault>,
) -> u64 {
    let mut rng = SimRng::new(seed ^ 0x6275_7379);
    if rng.chance(60) {
        let (at, lasts) = (rng.below(heals_at), rng.range(6_000, 12_000));
        for leader in 0..leaders {
            faults.push(ScheduledFault { at, lasts, kind: FaultKind::Crowd(leader) });
        }
        faults.sort_by_key(|fault| fault.at);
    }
    if rng.chance(250) { rng.range(1, 4) } else { 0 }
}

/// Returns the fault of this number.
fn fault_kind(
    rng: &mut SimRng,
    number: u64,
    (leader, worker, runs): (usize, usize, usize),
) -> FaultKind {
    match number {
        0 => FaultKind::LeaderCrash(leader),
        1 => FaultKind::LeaderFreeze(leader),
        2 => FaultKind::WorkerCrash(worker),
        3 => FaultKind::NodeCrash(worker),
        4 => FaultKind::WorkerFreeze(worker),
        5 => FaultKind::NodeFreeze(worker),
        6 => FaultKind::CutUp(worker),
        7 => FaultKind::CutDown(worker),
        8 => FaultKind::CutBoth(worker),
        9 => FaultKind::CutAll,
        10 => FaultKind::JournalRefuses,
        11 => FaultKind::JournalUnknown,
        12 => FaultKind::JournalSlow,
        13 => FaultKind::JournalDown,
        14 => FaultKind::HandOver(leader),
        15 => FaultKind::Cancel(rng.index(runs), rng.pick(&[CancelLevel::Stop, CancelLevel::Kill])),
        16 => FaultKind::Drain(worker),
        18 => FaultKind::RollBack(
            rng.range(1, 12),
            rng.pick(&[StoreHistory::Unproven, StoreHistory::Lost]),
        ),
        19 => FaultKind::HostCopied(worker),
        21 => FaultKind::GuardCrash(worker),
        22 => FaultKind::GuardHang(worker),
        23 => FaultKind::HungStarts(worker),
        24 => FaultKind::StoreCut(leader),
        25 => FaultKind::Revoke(worker),
        26 => FaultKind::Condemn(rng.index(runs)),
        27 | 28 => FaultKind::ForceRelease,
        17 => FaultKind::LeaderCrashAt(leader, rng.pick(&CrashPoint::ALL)),
        _ => FaultKind::WorkerRestart(worker),
    }
}

/// Returns a fault, with another one that makes its consequences visible: the worker becomes unreachable as well.
fn with_silent_worker(
    rng: &mut SimRng,
    fault: ScheduledFault,
    worker: usize,
) -> Vec<ScheduledFault> {
    let ScheduledFault { at, lasts, kind: what } = fault;
    let cut = FaultKind::CutBoth(worker);
    match what {
        FaultKind::GuardHang(_) | FaultKind::HungStarts(_) if rng.chance(600) => {
            let lasts = lasts.max(rng.range(8_000, 25_000));
            let after = at + rng.below(1_500);
            vec![
                ScheduledFault { at, lasts, kind: what },
                ScheduledFault { at: after, lasts, kind: cut },
            ]
        }
        FaultKind::HandOver(_) if rng.chance(500) => {
            let (after, long) = (at + rng.range(300, 4_000), rng.range(8_000, 20_000));
            vec![fault, ScheduledFault { at: after, lasts: long, kind: cut }]
        }
        _ => vec![fault],
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}: {:?}, ttl {:?} ms, {} ms per decision, heals at {} ms, {:?}",
            self.seed, self.mode, self.ttls, self.decision_cost, self.heals_at, self.network
        )?;
        for (at, worker) in self.workers.iter().enumerate() {
            writeln!(
                f,
                "  worker {at}: {} slots, {:?}, {:?}, own of {:?}, joins at {} ms, clone of {:?}, plain: {}",
                worker.slots,
                worker.labels,
                worker.scope,
                worker.own_of,
                worker.joins_at,
                worker.clone_of,
                worker.is_plain
            )?;
        }
        for (at, run) in self.runs.iter().enumerate() {
            writeln!(f, "  run {at}: {} nodes at {} ms", run.plan.node_count(), run.at)?;
        }
        for fault in &self.faults {
            writeln!(f, "  {:>6} ms for {:>5} ms: {:?}", fault.at, fault.lasts, fault.kind)?;
        }
        Ok(())
    }
}
