//! Reports: the durable state as plain values, for tables, the API and the command line.
//!
//! They borrow from the engine and copy nothing that grows with a run. Only what follows from the journal is in them, so
//! an engine that stands by reports what the leader's does, in the same order. What is read back from JSON owns what it
//! holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::queue::lock::Lock;
use crate::engine::state::engine::Engine;
use crate::engine::state::lease::Lease;
use crate::engine::state::run::{Run, SpentLeaseKind, StepState};
use crate::engine::state::worker::WorkerStatus;
use crate::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, WorkerId};
use crate::outcome::{OutcomeKind, RunStatus, StepStatus};
use crate::plan::Plan;
use crate::requirement::Labels;
use crate::session::{LeaseRef, StopMode, StopReason};
use crate::time::{Span, Time};

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderReport {
    /// Its term.
    pub term: Term,
    /// When the term began.
    pub since: Time,
    /// How long leases last.
    pub ttl: Span,
    /// The worker of the leading node, if there is one.
    pub own: Option<WorkerId>,
}

/// A worker that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReport<'a> {
    /// Its number.
    pub id: WorkerId,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Where it stands.
    pub status: WorkerStatus,
    /// What it advertises.
    pub labels: Cow<'a, Labels>,
    /// Steps at a time.
    pub slots: u32,
    /// Leases that it holds, those ahead of its slots too.
    pub leases: u32,
    /// When its status last changed.
    pub since: Time,
}

/// An open lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseReport<'a> {
    /// Its number.
    pub fence: Fence,
    /// Of which run.
    pub run: RunId,
    /// Which step.
    pub step: StepIx,
    /// The step's name.
    pub name: Cow<'a, str>,
    /// The how-manieth attempt, from 1.
    pub attempt: u16,
    /// The how-manieth hand-out of it, from 1.
    pub delivery: u16,
    /// Who holds it.
    pub worker: WorkerId,
    /// When it was granted, or last confirmed by a new leader.
    pub granted_at: Time,
    /// When its worker said that it had started.
    pub started_at: Option<Time>,
    /// Whether it was told to stop.
    pub stop: Option<StopReport>,
    /// Locks that it holds.
    pub locks: Vec<Cow<'a, str>>,
}

/// An order to stop a lease's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// How.
    pub how: StopMode,
    /// Why.
    pub why: StopReason,
}

/// A lock that some active run names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockReport<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// How many leases may hold it.
    pub slots: u32,
    /// Who does, in the order in which they took it.
    pub holders: Vec<LockHolder<'a>>,
    /// How many ready steps want it, those that could have it at once too.
    pub waiting: usize,
    /// Until when it is not granted because grants that the store has lost may still run.
    pub embargo: Option<Time>,
}

/// The holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WhyLockHolder"))]
pub struct LockHolder<'a> {
    /// The run.
    pub run: RunId,
    /// The index of the step in its plan.
    pub step: StepIx,
    /// The name of the step.
    pub name: Cow<'a, str>,
    /// The name of the worker.
    pub worker: Cow<'a, str>,
    /// The lease that holds the lock.
    pub fence: Fence,
    /// When the lease was granted, or last confirmed by a new leader.
    pub since: Time,
}

impl LockHolder<'_> {
    /// The same, apart from the engine.
    #[must_use]
    pub fn into_owned(self) -> LockHolder<'static> {
        let Self { run, step, name, worker, fence, since } = self;
        let (name, worker) = (name.into_owned().into(), worker.into_owned().into());
        LockHolder { run, step, name, worker, fence, since }
    }
}

/// A run that is not sealed. Not read back from JSON: its plan and its steps are not in there.
#[derive(Clone, Copy, Debug)]
pub struct RunReport<'a> {
    /// Its id.
    pub id: RunId,
    /// What it does; the pipeline's name and the number of steps are in there.
    pub plan: &'a Arc<Plan>,
    /// Where it stands.
    pub status: RunStatus,
    /// When it was submitted.
    pub submitted_at: Time,
    steps: &'a [StepState],
}

/// A node of a run: a step, or the join of a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport<'a> {
    /// Its index.
    pub step: StepIx,
    /// Where it stands.
    pub status: StepStatus,
    /// The attempt under way or next, from 1.
    pub attempt: u16,
    /// Hand-outs of this attempt so far.
    pub delivery: u16,
    /// The newest lease that it ever had. Together with the status it tells whether anything else in here can have
    /// changed.
    pub fence: Option<Fence>,
    /// The step at the root of a failed need.
    pub cause: Option<StepIx>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Whether it joins the cells of a matrix, and is no step.
    pub is_join: bool,
}

/// How many steps stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts([u32; StepStatus::ALL.len()]);

impl Engine {
    /// Who leads; `None` if nobody ever did.
    pub fn leader(&self) -> Option<LeaderReport> {
        let Self { term, led_at, ttl, own, .. } = *self;
        (term > Term(0)).then_some(LeaderReport { term, since: led_at, ttl, own })
    }

    /// Every worker that is known, by number.
    pub fn workers(&self) -> impl Iterator<Item = WorkerReport<'_>> {
        self.worker_ids.values().map(|worker| &self.workers[*worker]).map(|worker| WorkerReport {
            id: worker.id,
            name: (&*worker.name).into(),
            incarnation: worker.incarnation,
            status: worker.status,
            labels: Cow::Borrowed(&worker.labels),
            slots: worker.slots,
            leases: worker.open(),
            since: worker.since,
        })
    }

    /// The newest exchange of a worker that was answered with a lease, as far as the journal tells: whoever speaks for it
    /// goes on behind it.
    pub fn last_exchange(&self, worker: WorkerId) -> Option<Seq> {
        self.worker_ids.get(&worker).map(|worker| self.workers[*worker].peer.last())
    }

    /// Every open lease, in an order that depends on the journal alone.
    pub fn leases(&self) -> impl Iterator<Item = LeaseReport<'_>> {
        self.leases.iter().map(|(_, lease)| self.lease_report(lease))
    }

    /// The open lease of a step; `None` if nobody holds it.
    pub fn lease(&self, run: RunId, step: StepIx) -> Option<LeaseReport<'_>> {
        let run = &self.runs[*self.run_ids.get(&run)?];
        let lease = self.leases.get(run.steps.get(step.0 as usize)?.lease?)?;
        Some(self.lease_report(lease))
    }

    /// Whether the end of a lease is on record, and is not one that this report could have led to. A report that is merely
    /// repeated never contradicts.
    pub fn contradicts(&self, at: LeaseRef, reported: OutcomeKind) -> bool {
        let Some(run) = self.run_ids.get(&at.run).map(|run| &self.runs[*run]) else { return false };
        let spent = run.spent.get(&at.fence).filter(|spent| spent.step == at.step);
        if let Some(spent) = spent {
            // A success is never followed by another attempt.
            return spent.how == SpentLeaseKind::Reported && reported == OutcomeKind::Succeeded;
        }
        let step = run.steps.get(at.step.0 as usize);
        let step = step.filter(|step| step.fence == at.fence && step.status.is_terminal());
        step.is_some_and(|step| match reported {
            OutcomeKind::Succeeded => step.status != StepStatus::Succeeded,
            OutcomeKind::Failed => step.status != StepStatus::Failed,
            OutcomeKind::TimedOut => step.status != StepStatus::TimedOut,
            // How a step ends that its worker has cancelled depends on why it was told to stop.
            OutcomeKind::Cancelled | OutcomeKind::Lost | OutcomeKind::Released => {
                step.status == StepStatus::Succeeded
            }
        })
    }

    /// Every lock that an active run names, by name.
    pub fn locks(&self) -> impl Iterator<Item = LockReport<'_>> {
        let holders: BTreeMap<Fence, &Lease> = self.lock_leases().collect();
        self.board.lock_ids.values().map(|lock| &self.board.locks[*lock]).map(move |lock| {
            let held = lock.holders.iter().filter_map(|fence| holders.get(fence));
            LockReport {
                name: (&*lock.name).into(),
                slots: lock.slots(),
                holders: held.map(|lease| self.lock_holder(lease)).collect(),
                waiting: lock.lanes.iter().map(|lane| self.board.lanes[*lane].len()).sum(),
                embargo: self.embargo_until(),
            }
        })
    }

    /// Who holds a lock, in the order in which they took it.
    pub(crate) fn lock_holders<'a>(&'a self, lock: &Lock) -> Vec<LockHolder<'a>> {
        let held = self.lock_leases().filter(|(fence, _)| lock.holders.contains(fence));
        let held: BTreeMap<Fence, &Lease> = held.collect();
        lock.holders
            .iter()
            .filter_map(|fence| held.get(fence))
            .map(|it| self.lock_holder(it))
            .collect()
    }

    /// Leases that took locks.
    fn lock_leases(&self) -> impl Iterator<Item = (Fence, &Lease)> {
        let leases = self.leases.iter().map(|(_, lease)| lease);
        leases.filter(|lease| lease.locks.is_some()).map(|lease| (lease.fence, lease))
    }

    fn lock_holder(&self, lease: &Lease) -> LockHolder<'_> {
        let run = &self.runs[lease.run];
        LockHolder {
            run: run.id,
            step: lease.step,
            name: run.plan.name(lease.step).into(),
            worker: (&*self.workers[lease.worker].name).into(),
            fence: lease.fence,
            since: lease.since,
        }
    }

    /// Every run that is not sealed, by id, which is by age.
    pub fn runs(&self) -> impl Iterator<Item = RunReport<'_>> {
        self.runs_from(RunId(0))
    }

    /// The same, from an id on.
    pub fn runs_from(&self, from: RunId) -> impl Iterator<Item = RunReport<'_>> {
        self.run_ids.range(from..).map(|(_, run)| run_report(&self.runs[*run]))
    }

    /// A run; `None` if it is not here.
    pub fn run(&self, run: RunId) -> Option<RunReport<'_>> {
        Some(run_report(&self.runs[*self.run_ids.get(&run)?]))
    }

    fn lease_report<'a>(&'a self, lease: &'a Lease) -> LeaseReport<'a> {
        let run = &self.runs[lease.run];
        let locks = lease.locks.iter().flat_map(|locks| locks.iter());
        let locks = locks.filter_map(|lock| self.board.locks.get(*lock));
        // An operator may have taken one away.
        let held = locks.filter(|lock| lock.holders.contains(&lease.fence));
        LeaseReport {
            fence: lease.fence,
            run: run.id,
            step: lease.step,
            name: run.plan.name(lease.step).into(),
            attempt: lease.attempt,
            delivery: lease.delivery,
            worker: self.workers[lease.worker].id,
            granted_at: lease.since,
            started_at: lease.started_at,
            stop: lease.stop.map(|(how, why)| StopReport { how, why }),
            locks: held.map(|lock| (&*lock.name).into()).collect(),
        }
    }
}

impl<'a> RunReport<'a> {
    /// The name of its pipeline.
    pub fn pipeline(&self) -> &'a str {
        self.plan.pipeline()
    }

    /// How many steps stand where. Looks at each of them.
    pub fn counts(&self) -> StatusCounts {
        let mut counts = StatusCounts::default();
        for step in self.steps(StepIx(0)).filter(|step| !step.is_join) {
            counts.add(step.status);
        }
        counts
    }

    /// Its nodes from an index on, in order.
    pub fn steps(&self, from: StepIx) -> impl Iterator<Item = StepReport<'a>> + use<'a> {
        let plan: &'a Plan = self.plan;
        let from = from.0.min(plan.node_count());
        let steps = &self.steps[from as usize..];
        steps.iter().zip(from..).map(move |(state, at)| StepReport {
            step: StepIx(at),
            status: state.status,
            attempt: state.attempt,
            delivery: state.delivery,
            fence: (state.fence != Fence::default()).then_some(state.fence),
            cause: state.cause(),
            name: plan.name(StepIx(at)).into(),
            is_join: plan.is_join(StepIx(at)),
        })
    }
}

impl StatusCounts {
    /// How many stand there.
    pub const fn of(&self, status: StepStatus) -> u32 {
        self.0[status as usize]
    }

    /// One more stands there.
    pub const fn add(&mut self, status: StepStatus) {
        self.0[status as usize] += 1;
    }

    /// One that stood there does so no more.
    pub const fn take(&mut self, status: StepStatus) {
        self.0[status as usize] -= 1;
    }

    /// Each status with its number, in the order of a step's life.
    pub fn iter(&self) -> impl Iterator<Item = (StepStatus, u32)> {
        StepStatus::ALL.into_iter().zip(self.0)
    }
}

/// A word for each status with its number; zeros are left out.
impl Serialize for StatusCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().filter(|(_, count)| *count > 0))
    }
}

impl<'de> Deserialize<'de> for StatusCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut counts = Self::default();
        for (status, count) in BTreeMap::<StepStatus, u32>::deserialize(deserializer)? {
            counts.0[status as usize] = count;
        }
        Ok(counts)
    }
}

/// What a list of runs tells. Looks at each step.
impl Serialize for RunReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct SerializedRunReport<'a> {
            id: RunId,
            pipeline: &'a str,
            status: RunStatus,
            submitted_at: Time,
            counts: StatusCounts,
        }
        let Self { id, status, submitted_at, .. } = *self;
        let (pipeline, counts) = (self.pipeline(), self.counts());
        SerializedRunReport { id, pipeline, status, submitted_at, counts }.serialize(serializer)
    }
}

fn run_report(run: &Run) -> RunReport<'_> {
    let Run { id, plan, status, submitted_at, steps, .. } = run;
    RunReport { id: *id, plan, status: *status, submitted_at: *submitted_at, steps }
}
