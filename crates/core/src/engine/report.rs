//! Reports: the durable state as plain values, for tables, the API and the command line.
//!
//! They borrow from the engine and copy nothing that grows with a run. Only what follows from the journal is in them, so
//! an engine that stands by reports what the leader's does, in the same order.

use std::sync::Arc;

use super::lease::Lease;
use super::run::{Run, StepState};
use super::state::Engine;
use super::worker::WorkerStatus;
use crate::id::{Fence, Incarnation, RunId, StepIx, Term, WorkerId};
use crate::outcome::{RunStatus, StepStatus};
use crate::plan::Plan;
use crate::requirement::Labels;
use crate::session::{StopHow, StopReason};
use crate::time::{Span, Time};

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerReport<'a> {
    /// Its number.
    pub id: WorkerId,
    /// Its name.
    pub name: &'a str,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Where it stands.
    pub status: WorkerStatus,
    /// What it advertises.
    pub labels: &'a Labels,
    /// Steps at a time.
    pub slots: u32,
    /// Leases that it holds, those ahead of its slots too.
    pub leases: u32,
    /// When its status last changed.
    pub since: Time,
}

/// An open lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseReport<'a> {
    /// Its number.
    pub fence: Fence,
    /// Of which run.
    pub run: RunId,
    /// Which step.
    pub step: StepIx,
    /// The step's name.
    pub name: &'a str,
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
    pub locks: Vec<&'a str>,
}

/// An order to stop a lease's step, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopReport {
    /// `term` or `kill`.
    pub how: &'static str,
    /// `run_cancelled`, `fail_fast`, `superseded`, `overdue` or `stale`.
    pub why: &'static str,
}

/// A lock that some active run names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockReport<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many leases may hold it.
    pub slots: u32,
    /// Which do, in the order in which they took it.
    pub holders: &'a [Fence],
}

/// A run that is not sealed.
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
#[derive(Clone, Copy, Debug)]
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
    plan: &'a Plan,
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
            name: &worker.name,
            incarnation: worker.incarnation,
            status: worker.status,
            labels: &worker.labels,
            slots: worker.slots,
            leases: worker.open(),
            since: worker.since,
        })
    }

    /// Every open lease, in an order that depends on the journal alone.
    pub fn leases(&self) -> impl Iterator<Item = LeaseReport<'_>> {
        self.leases.iter().map(|(_, lease)| self.lease_report(lease))
    }

    /// The open lease of a step; `None` if nobody holds it.
    pub fn lease(&self, run: RunId, step: StepIx) -> Option<LeaseReport<'_>> {
        let run = &self.runs[*self.run_ids.get(&run)?];
        let lease = self.leases.get(run.steps.get(step.0 as usize)?.lease)?;
        Some(self.lease_report(lease))
    }

    /// Every lock that an active run names, by name.
    pub fn locks(&self) -> impl Iterator<Item = LockReport<'_>> {
        self.board.lock_ids.values().map(|lock| &self.board.locks[*lock]).map(|lock| LockReport {
            name: &lock.name,
            slots: lock.slots(),
            holders: &lock.holders,
        })
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
            name: run.plan.name(lease.step),
            attempt: lease.attempt,
            delivery: lease.delivery,
            worker: self.workers[lease.worker].id,
            granted_at: lease.since,
            started_at: lease.started_at,
            stop: lease.stop.map(|(how, why)| StopReport::new(how, why)),
            locks: held.map(|lock| &*lock.name).collect(),
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
        for step in self.steps(StepIx(0)).filter(|step| !step.is_join()) {
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
            plan,
        })
    }
}

impl<'a> StepReport<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        self.plan.name(self.step)
    }

    /// Whether it joins the cells of a matrix, and is no step.
    pub fn is_join(&self) -> bool {
        self.plan.is_join(self.step)
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

impl StopReport {
    const fn new(how: StopHow, why: StopReason) -> Self {
        let how = match how {
            StopHow::Term => "term",
            StopHow::Kill => "kill",
        };
        Self { how, why: stop_word(why) }
    }
}

/// The word for a reason in JSON and SQL.
pub(super) const fn stop_word(why: StopReason) -> &'static str {
    match why {
        StopReason::RunCancelled => "run_cancelled",
        StopReason::FailFast => "fail_fast",
        StopReason::Superseded => "superseded",
        StopReason::Overdue => "overdue",
        StopReason::Stale => "stale",
    }
}

fn run_report(run: &Run) -> RunReport<'_> {
    let Run { id, plan, status, submitted_at, steps, .. } = run;
    RunReport { id: *id, plan, status: *status, submitted_at: *submitted_at, steps }
}
