//! The plans of a simulation, and the behaviour of their steps.

use std::sync::Arc;

use windlass_core::engine::{RunOptions, UnplaceablePolicy};
use windlass_core::id::StepIx;
use windlass_core::outcome::OutcomeKind;
use windlass_core::plan::{LockUse, OnLostContact, Plan, PlanBuilder, StepSpec};
use windlass_core::time::Span;

use super::rng::SimRng;
use super::schedule::ScheduledRun;
use super::step_specs::{loss_tolerant_spec, spec};

pub(crate) const LABELS: [&str; 3] = ["docker", "gpu", "linux"];

/// The behaviour of a step's process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepBehavior {
    /// How long it runs.
    pub(crate) takes: u64,
    /// The number of first attempts that fail.
    pub(crate) fails: u16,
    /// True if it never ends by itself, and its worker does not notice.
    pub(crate) hangs: bool,
}

impl StepBehavior {
    pub(crate) fn ends_as(self, attempt: u16) -> OutcomeKind {
        if attempt <= self.fails { OutcomeKind::Failed } else { OutcomeKind::Succeeded }
    }
}

/// The kind of work of a schedule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkloadKind {
    /// A mix of all kinds.
    Mixed,
    /// Many steps that want one of two locks, and one that wants both.
    LockContention,
    /// Few slots, long steps, some far more urgent than others.
    Queue,
    /// Many short steps, so that steps are leased ahead.
    Burst,
    /// The same, with steps that must end when contact is lost.
    StrictBurst,
}

pub(crate) fn runs(rng: &mut SimRng) -> Vec<ScheduledRun> {
    let flavours = [
        WorkloadKind::Mixed,
        WorkloadKind::Mixed,
        WorkloadKind::Mixed,
        WorkloadKind::LockContention,
        WorkloadKind::Queue,
        WorkloadKind::Burst,
    ];
    let flavour = rng.pick(&flavours);
    let count = if flavour == WorkloadKind::Queue { rng.range(3, 5) } else { rng.range(1, 3) };
    (0..count).map(|at| run(rng, flavour, at)).collect()
}

/// Returns the runs of a schedule in the local mode: mostly short steps, which are leased ahead.
pub(crate) fn local_runs(rng: &mut SimRng) -> Vec<ScheduledRun> {
    let workloads =
        [WorkloadKind::Burst, WorkloadKind::StrictBurst, WorkloadKind::Queue, WorkloadKind::Mixed];
    (0..rng.range(1, 3))
        .map(|at| {
            let workload = rng.pick(&workloads);
            run(rng, workload, at)
        })
        .collect()
}

/// Returns a run of a process in a folder.
pub(crate) fn folder_run(rng: &mut SimRng, number: u64) -> ScheduledRun {
    let workloads = [
        WorkloadKind::Mixed,
        WorkloadKind::Mixed,
        WorkloadKind::LockContention,
        WorkloadKind::Burst,
        WorkloadKind::StrictBurst,
    ];
    let workload = rng.pick(&workloads);
    run(rng, workload, number)
}

/// Returns a run that is started inside a step that holds this lock, and needs the lock in one of its steps.
pub(crate) fn nested_run(rng: &mut SimRng, lock: &str) -> ScheduledRun {
    let mut plan = PlanBuilder::new("nested");
    // Long enough to find the step waiting, and short beside the schedule.
    let wait_for_lock = Span::secs(60);
    plan.step("again", StepSpec { wait_for_lock, ..StepSpec::locking([lock]) });
    plan.step("other", StepSpec::locking(["nested"]));
    plan.step("plain", StepSpec::default());
    let takes =
        |rng: &mut SimRng| StepBehavior { takes: rng.range(1, 500), fails: 0, hangs: false };
    let facts: Vec<StepBehavior> = (0..3).map(|_| takes(rng)).collect();
    ScheduledRun {
        at: 0,
        options: RunOptions { keep_going: true, ..RunOptions::default() },
        facts: facts.into(),
        reused: Vec::new(),
        plan: Arc::new(plan.build().expect("the plan is sound")),
        owner: None,
        inside: None,
    }
}

fn run(rng: &mut SimRng, flavour: WorkloadKind, at: u64) -> ScheduledRun {
    let plan = match flavour {
        WorkloadKind::Mixed => mixed_plan(rng),
        WorkloadKind::LockContention => lock_contention_plan(rng),
        WorkloadKind::Queue => queue_plan(rng),
        WorkloadKind::Burst => burst_plan(rng, OnLostContact::Continue),
        WorkloadKind::StrictBurst => burst_plan(rng, OnLostContact::Stop),
    };
    let longest = match flavour {
        WorkloadKind::Mixed => rng.pick(&[300, 3_000, 20_000]),
        WorkloadKind::LockContention => 1_500,
        WorkloadKind::Queue => 30_000,
        WorkloadKind::Burst => 40,
        WorkloadKind::StrictBurst => 400,
    };
    let mut facts: Vec<StepBehavior> = Vec::new();
    for node in plan.nodes() {
        let timeout = plan.spec(node).and_then(|spec| spec.timeout);
        let flaky = rng.chance(150);
        facts.push(StepBehavior {
            takes: rng.range(1, longest),
            fails: if flaky { u16::try_from(rng.range(1, 3)).expect("few attempts") } else { 0 },
            hangs: timeout.is_some() && rng.chance(200),
        });
    }
    let reuses = flavour == WorkloadKind::Mixed && at == 0 && rng.chance(150);
    let roots = plan.nodes().filter(|node| plan.needs(*node).is_empty() && !plan.is_join(*node));
    ScheduledRun {
        at: if flavour == WorkloadKind::Queue {
            at * rng.range(5_000, 40_000)
        } else {
            rng.below(15_000)
        },
        options: options(rng),
        facts: facts.into(),
        reused: if reuses { roots.map(|node| node.0).take(2).collect() } else { Vec::new() },
        plan: Arc::new(plan),
        owner: None,
        inside: None,
    }
}

fn options(rng: &mut SimRng) -> RunOptions {
    RunOptions {
        root: None,
        keep_going: rng.chance(600),
        unplaceable: if rng.chance(100) {
            UnplaceablePolicy::Skip
        } else {
            UnplaceablePolicy::Wait
        },
        timeout: rng.chance(60).then(|| Span::secs(rng.range(20, 120))),
        owner: None,
        parent: None,
    }
}

fn mixed_plan(rng: &mut SimRng) -> Plan {
    let mut plan = PlanBuilder::new("mixed");
    plan.lock_slots("beta", u32::try_from(rng.range(1, 2)).expect("few"));
    let mut nodes: Vec<StepIx> = Vec::new();
    for at in 0..rng.range(20, 26) {
        let mut spec = spec(rng);
        // Runs of one pipeline share a limit per worker: these steps have one in each of them.
        if at % 8 == 3 {
            spec.per_worker = Some(1);
        }
        let node = if rng.chance(120) {
            let cells = (0..rng.range(2, 4)).map(|cell| (format!("c{cell}"), spec.clone()));
            plan.matrix(&format!("m{at}"), cells.collect::<Vec<_>>())
        } else {
            plan.step(&format!("s{at}"), spec)
        };
        let mut needs: Vec<StepIx> = (0..rng.below(3))
            .filter_map(|_| nodes.get(rng.index(nodes.len().max(1))))
            .copied()
            .collect();
        needs.sort_unstable();
        needs.dedup();
        // A join waits for the cells of a matrix. The cells need nothing, which keeps the generator small.
        for need in needs {
            if rng.chance(100) { plan.needs_optional(node, need) } else { plan.needs(node, need) }
        }
        nodes.push(node);
    }
    plan.build().expect("the generator makes valid plans")
}

fn lock_contention_plan(rng: &mut SimRng) -> Plan {
    let mut plan = PlanBuilder::new("storm");
    for at in 0..rng.range(50, 70) {
        let lock = if at % 2 == 0 { "alpha" } else { "beta" };
        plan.step(
            &format!("one{at}"),
            StepSpec { locks: vec![LockUse::fifo(lock)], ..loss_tolerant_spec() },
        );
        if at == 6 {
            let locks = vec![LockUse::fifo("alpha"), LockUse::fifo("beta")];
            plan.step("both", StepSpec { locks, ..loss_tolerant_spec() });
        }
    }
    plan.build().expect("the generator makes valid plans")
}

fn queue_plan(rng: &mut SimRng) -> Plan {
    let mut plan = PlanBuilder::new("queue");
    for at in 0..rng.range(20, 30) {
        let urgent = rng.chance(800);
        plan.step(
            &format!("q{at}"),
            StepSpec { priority: if urgent { 4 } else { 0 }, ..loss_tolerant_spec() },
        );
    }
    declare_both_locks(&mut plan);
    plan.build().expect("the generator makes valid plans")
}

/// Declares two locks, which every schedule has.
fn declare_both_locks(plan: &mut PlanBuilder) {
    for lock in ["alpha", "beta"] {
        plan.step(
            &format!("with-{lock}"),
            StepSpec { locks: vec![LockUse::fifo(lock)], ..loss_tolerant_spec() },
        );
    }
}

fn burst_plan(rng: &mut SimRng, on_lost_contact: OnLostContact) -> Plan {
    let mut plan = PlanBuilder::new("burst");
    let spec = || StepSpec { on_lost_contact, ..loss_tolerant_spec() };
    let many = rng.range(40, 120);
    let cells = (0..many).map(|cell| (format!("{cell}"), spec())).collect::<Vec<_>>();
    let join = plan.matrix("burst", cells);
    let last = plan.step("last", loss_tolerant_spec());
    plan.needs(last, join);
    declare_both_locks(&mut plan);
    plan.build().expect("the generator makes valid plans")
}
