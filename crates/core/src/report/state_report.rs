//! Reports: the durable state as plain values, for tables, the API and the command line.
//!
//! Reports borrow from the engine and copy nothing that grows with a run. They contain only what follows from the
//! journal, so the engine of a standby reports the same as the leader's, in the same order. A report that is read back
//! from JSON owns its values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::event::RunOwner;
use crate::engine::queue::lock::Lock;
use crate::engine::state::engine::Engine;
use crate::engine::state::lease::Lease;
use crate::engine::state::run::{Run, SpentLeaseKind, StepState};
use crate::engine::state::worker::WorkerStatus;
use crate::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, WorkerId};
use crate::outcome::{OutcomeKind, RunStatus, StepStatus};
use crate::plan::Plan;
use crate::requirement::Labels;
use crate::session::{LeaseRef, StopMode, StopReason, WorkerLocality};
use crate::time::{Span, Time};

/// The leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderReport {
    /// The leader's term.
    pub term: Term,
    /// When the term began.
    pub since: Time,
    /// The lease duration.
    pub ttl: Span,
    /// The worker of the leading node, if there is one.
    pub own: Option<WorkerId>,
}

/// A known worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReport<'a> {
    /// The worker's id.
    pub id: WorkerId,
    /// The worker's name.
    pub name: Cow<'a, str>,
    /// The current incarnation.
    pub incarnation: Incarnation,
    /// The worker's status.
    pub status: WorkerStatus,
    /// The labels that the worker advertises.
    pub labels: Cow<'a, Labels>,
    /// The number of steps that the worker runs at a time.
    pub slots: u32,
    /// The number of leases that it holds, including those ahead of its slots.
    pub leases: u32,
    /// When its status last changed.
    pub since: Time,
    /// The place of its process.
    #[serde(rename = "home")]
    pub locality: WorkerLocality,
}

/// An open lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseReport<'a> {
    /// The fence of the lease.
    pub fence: Fence,
    /// The step's run.
    pub run: RunId,
    /// The index of the step in its plan.
    pub step: StepIx,
    /// The step's name.
    pub name: Cow<'a, str>,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The worker that holds the lease.
    pub worker: WorkerId,
    /// When it was granted, or last confirmed by a new leader.
    pub granted_at: Time,
    /// When the worker reported that it had started the step.
    pub started_at: Option<Time>,
    /// The order to stop the step, if there is one.
    pub stop: Option<StopReport>,
    /// The locks that the lease holds.
    pub locks: Vec<Cow<'a, str>>,
}

/// An order to stop a lease's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// Whether the step is stopped or killed.
    pub how: StopMode,
    /// Why the step is stopped.
    pub why: StopReason,
}

/// A lock that some active run names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockReport<'a> {
    /// The name of the lock.
    pub name: Cow<'a, str>,
    /// The number of leases that can hold the lock at a time.
    pub slots: u32,
    /// The holders, in the order in which they took the lock.
    pub holders: Vec<LockHolder<'a>>,
    /// The number of ready steps that need the lock, including those that could take it now.
    pub waiting: usize,
    /// The end of the embargo: until then the lock is not granted, because grants that the store has lost may still
    /// run.
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
    /// Returns the same value without a reference to the engine.
    #[must_use]
    pub fn into_owned(self) -> LockHolder<'static> {
        let Self { run, step, name, worker, fence, since } = self;
        let (name, worker) = (name.into_owned().into(), worker.into_owned().into());
        LockHolder { run, step, name, worker, fence, since }
    }
}

/// A run that is not sealed. It cannot be read back from JSON, which does not contain its plan and its steps.
#[derive(Clone, Copy, Debug)]
pub struct RunReport<'a> {
    /// The run's id.
    pub id: RunId,
    /// The plan, with the pipeline's name and the number of steps.
    pub plan: &'a Arc<Plan>,
    /// The run's status.
    pub status: RunStatus,
    /// When it was submitted.
    pub submitted_at: Time,
    /// The worker of the process to which it belongs.
    pub owner: Option<RunOwner>,
    steps: &'a [StepState],
}

/// A node of a run: a step, or the join of a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport<'a> {
    /// The node's index in the plan.
    pub step: StepIx,
    /// The node's status.
    pub status: StepStatus,
    /// The attempt under way or next, from 1.
    pub attempt: u16,
    /// The number of deliveries of this attempt so far.
    pub delivery: u16,
    /// The newest lease that the step ever had. A reader can detect every other change from this field and the status.
    pub fence: Option<Fence>,
    /// The root cause of a failed need.
    pub cause: Option<StepIx>,
    /// The node's name.
    pub name: Cow<'a, str>,
    /// Whether the node is a join of a matrix and not a step.
    pub is_join: bool,
}

/// The number of steps in each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts([u32; StepStatus::ALL.len()]);

impl Engine {
    /// Returns the leader; `None` if no node has ever led.
    pub fn leader(&self) -> Option<LeaderReport> {
        let Self { term, led_at, ttl, own, .. } = *self;
        (term > Term(0)).then_some(LeaderReport { term, since: led_at, ttl, own })
    }

    /// Returns every known worker, by id.
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
            locality: worker.locality,
        })
    }

    /// Returns the newest exchange of a worker that was answered with a lease, according to the journal. The next
    /// exchange must have a greater number.
    pub fn last_exchange(&self, worker: WorkerId) -> Option<Seq> {
        self.worker_ids.get(&worker).map(|worker| self.workers[*worker].peer.last())
    }

    /// Returns every open lease, in an order that depends only on the journal.
    pub fn leases(&self) -> impl Iterator<Item = LeaseReport<'_>> {
        self.leases.iter().map(|(_, lease)| self.lease_report(lease))
    }

    /// Returns the open lease of a step; `None` if it has none.
    pub fn lease(&self, run: RunId, step: StepIx) -> Option<LeaseReport<'_>> {
        let run = &self.runs[*self.run_ids.get(&run)?];
        let lease = self.leases.get(run.steps.get(step.0 as usize)?.lease?)?;
        Some(self.lease_report(lease))
    }

    /// Returns whether the journal has an end of this lease that the report cannot have caused. A repeated report never
    /// contradicts.
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
            // The status of a cancelled step depends on why it was ordered to stop.
            OutcomeKind::Cancelled | OutcomeKind::Lost | OutcomeKind::Released => {
                step.status == StepStatus::Succeeded
            }
        })
    }

    /// Returns every lock that an active run names, by name.
    pub fn locks(&self) -> impl Iterator<Item = LockReport<'_>> {
        let holders: BTreeMap<Fence, &Lease> = self.lock_leases().collect();
        self.queues.lock_ids.values().map(|lock| &self.queues.locks[*lock]).map(move |lock| {
            let held = lock.holders.iter().filter_map(|fence| holders.get(fence));
            LockReport {
                name: (&*lock.name).into(),
                slots: lock.slots(),
                holders: held.map(|lease| self.lock_holder(lease)).collect(),
                waiting: lock.lanes.iter().map(|lane| self.queues.lanes[*lane].len()).sum(),
                embargo: self.embargo_until(),
            }
        })
    }

    /// Returns the holders of a lock, in the order in which they took it.
    pub(crate) fn lock_holders<'a>(&'a self, lock: &Lock) -> Vec<LockHolder<'a>> {
        let held = self.lock_leases().filter(|(fence, _)| lock.holders.contains(fence));
        let held: BTreeMap<Fence, &Lease> = held.collect();
        lock.holders
            .iter()
            .filter_map(|fence| held.get(fence))
            .map(|it| self.lock_holder(it))
            .collect()
    }

    /// Returns the leases that took locks.
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

    /// Returns every run that is not sealed, by id, which is by age.
    pub fn runs(&self) -> impl Iterator<Item = RunReport<'_>> {
        self.runs_from(RunId(0))
    }

    /// Returns the same, starting at an id.
    pub fn runs_from(&self, from: RunId) -> impl Iterator<Item = RunReport<'_>> {
        self.run_ids.range(from..).map(|(_, run)| run_report(&self.runs[*run]))
    }

    /// Returns a run; `None` if the engine does not have it.
    pub fn run(&self, run: RunId) -> Option<RunReport<'_>> {
        Some(run_report(&self.runs[*self.run_ids.get(&run)?]))
    }

    fn lease_report<'a>(&'a self, lease: &'a Lease) -> LeaseReport<'a> {
        let run = &self.runs[lease.run];
        let locks = lease.locks.iter().flat_map(|locks| locks.iter());
        let locks = locks.filter_map(|lock| self.queues.locks.get(*lock));
        // An operator may have taken a lock from the lease.
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
    /// Returns the name of the run's pipeline.
    pub fn pipeline(&self) -> &'a str {
        self.plan.pipeline()
    }

    /// Returns the number of steps in each status. Visits every step.
    pub fn counts(&self) -> StatusCounts {
        let mut counts = StatusCounts::default();
        for step in self.steps(StepIx(0)).filter(|step| !step.is_join) {
            counts.add(step.status);
        }
        counts
    }

    /// Returns the run's nodes from an index on, in order.
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
    /// Returns the number of steps in this status.
    pub const fn of(&self, status: StepStatus) -> u32 {
        self.0[status as usize]
    }

    /// Adds one step in this status.
    pub const fn add(&mut self, status: StepStatus) {
        self.0[status as usize] += 1;
    }

    /// Removes one step in this status.
    pub const fn take(&mut self, status: StepStatus) {
        self.0[status as usize] -= 1;
    }

    /// Returns each status with its number of steps, in the order of the transition table.
    pub fn iter(&self) -> impl Iterator<Item = (StepStatus, u32)> {
        StepStatus::ALL.into_iter().zip(self.0)
    }
}

/// Returns each status in words with its number of steps, without zeros.
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

/// Returns the entry of the run in a list of runs. Visits every step.
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
    let Run { id, plan, status, submitted_at, options, steps, .. } = run;
    RunReport {
        id: *id,
        plan,
        status: *status,
        submitted_at: *submitted_at,
        owner: options.owner,
        steps,
    }
}
