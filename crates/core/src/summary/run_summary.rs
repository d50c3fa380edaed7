//! The summary of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::delivery_summary::DeliveryRecord;
use super::status_counts::StepStatusCounts;
use super::step_summary::{NONE, StepSummary, SummaryNode};
use crate::engine::{CancelLevel, CancelReason, Event, RunOptions, StepSettlement, event};
use crate::id::{RunId, StepIx, Term, WorkerId};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::plan::Plan;
use crate::requirement::Labels;
use crate::time::{Span, Time};

/// The state and history of one run, from the [applied](Self::apply_event) events.
#[derive(Clone, Debug)]
pub struct RunSummary {
    pub(super) run: RunId,
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    pub(super) submitted_at: Time,
    pub(super) ended_at: Option<Time>,
    /// When the run was interrupted, while it is.
    pub(super) interrupted_at: Option<Time>,
    /// The last event before the newest takeover, until the owner of the run is known to have outlived it.
    pub(super) leaderless_since: Option<Time>,
    pub(super) status: RunStatus,
    pub(super) cancel: Option<(CancelLevel, CancelReason)>,
    /// Periods without a leader, from the last event to the next leader, and periods in which the run was interrupted,
    /// oldest first.
    pub(super) gaps: Vec<(Time, Time)>,
    /// The time of the newest event.
    pub(super) last_event_at: Time,
    /// The newest known term and its leader's own worker.
    pub(super) led: Option<(Term, Option<WorkerId>)>,
    pub(super) workers: Vec<KnownWorker>,
    pub(super) nodes: Box<[SummaryNode]>,
    pub(super) records: Vec<DeliveryRecord>,
    pub(super) settled: Vec<StepSettlement>,
    pub(super) outputs: BTreeMap<StepIx, StepOutput>,
    pub(super) reused: BTreeMap<StepIx, RunId>,
    /// Idempotent steps: the key, and the origin of a reused outcome.
    pub(super) keys: BTreeMap<StepIx, (Box<str>, Option<IdempotencyOrigin>)>,
    pub(super) held: BTreeSet<StepIx>,
    /// Indices of the workers that held a step.
    pub(super) workers_met: BTreeSet<u32>,
    pub(super) status_counts: StepStatusCounts,
}

/// A worker known to the run. Their number is small, so they are searched linearly.
#[derive(Clone, Debug)]
pub(super) struct KnownWorker {
    pub(super) id: WorkerId,
    pub(super) name: Box<str>,
    /// `None` if only the name is known.
    pub(super) labels: Option<Labels>,
    /// The slots and since when, if known.
    pub(super) slots: Option<(u32, Time)>,
}

impl RunSummary {
    /// Creates the summary of a run submitted at this time.
    pub fn new(at: Time, run: RunId, plan: Arc<Plan>, options: RunOptions) -> Self {
        let nodes = plan.nodes().map(|node| SummaryNode::new(plan.need_count(node))).collect();
        let tally = StepStatusCounts::waiting(plan.step_count());
        let mut summary = Self {
            run,
            options,
            submitted_at: at,
            ended_at: None,
            interrupted_at: None,
            leaderless_since: None,
            status: RunStatus::Running,
            cancel: None,
            gaps: Vec::new(),
            last_event_at: at,
            led: None,
            workers: Vec::new(),
            nodes,
            records: Vec::new(),
            settled: Vec::new(),
            outputs: BTreeMap::new(),
            reused: BTreeMap::new(),
            keys: BTreeMap::new(),
            held: BTreeSet::new(),
            workers_met: BTreeSet::new(),
            status_counts: tally,
            plan,
        };
        summary.ready_from_the_start();
        summary
    }

    /// Creates the summary from the first event of a run, its submission. A resumption stands for the events before it
    /// if they are unknown. `None` for other events.
    pub fn from_submitted(at: Time, event: &Event) -> Option<Self> {
        if let Event::RunResumed(event::RunResumed { run, plan, options, progress }) = event {
            let mut summary = Self::new(progress.submitted_at, *run, Arc::clone(plan), *options);
            summary.gaps.push((progress.interrupted_at, at));
            for step in &progress.steps {
                summary.apply_restored(at, step);
            }
            return Some(summary);
        }
        let Event::RunSubmitted(event::RunSubmitted { run, plan, options, reused }) = event else {
            return None;
        };
        let mut summary = Self::new(at, *run, Arc::clone(plan), *options);
        for taken in reused {
            summary.apply_reused(at, taken);
        }
        Some(summary)
    }

    /// Adds a worker that registered before the run began, with its labels if known.
    pub fn add_worker(&mut self, id: WorkerId, name: &str, labels: Option<&Labels>) {
        let known = KnownWorker { id, name: name.into(), labels: labels.cloned(), slots: None };
        match self.workers.iter_mut().find(|known| known.id == id) {
            Some(former) => *former = KnownWorker { slots: former.slots, ..known },
            None => self.workers.push(known),
        }
    }

    /// Sets the term of the submission, so that only a later term counts as an interruption.
    pub fn set_leader(&mut self, term: Term, own: Option<WorkerId>) {
        self.led = Some((term, own));
    }

    /// The run id.
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// The plan.
    pub const fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The options.
    pub const fn options(&self) -> RunOptions {
        self.options
    }

    /// The status.
    pub const fn status(&self) -> RunStatus {
        self.status
    }

    /// When it was submitted.
    pub const fn submitted_at(&self) -> Time {
        self.submitted_at
    }

    /// When it ended.
    pub const fn ended_at(&self) -> Option<Time> {
        self.ended_at
    }

    /// The time of the newest event.
    pub const fn last_event_at(&self) -> Time {
        self.last_event_at
    }

    /// The level and reason of its cancellation, if any.
    pub const fn cancel(&self) -> Option<(CancelLevel, CancelReason)> {
        self.cancel
    }

    /// Whether it was cancelled because its deadline passed.
    pub const fn is_overdue(&self) -> bool {
        matches!(self.cancel, Some((_, CancelReason::Deadline)))
    }

    /// The number of leader changes during the run, and of interruptions: kills, crashes or failovers.
    pub const fn interruptions(&self) -> usize {
        self.gaps.len()
    }

    /// The total time without a leader, and in which the run was interrupted.
    pub fn interrupted_time(&self) -> Span {
        self.gaps.iter().fold(Span::ZERO, |sum, (from, to)| sum + to.since(*from))
    }

    /// The number of steps by status.
    pub const fn status_counts(&self) -> StepStatusCounts {
        self.status_counts
    }

    /// The time from its submission to its end, to its interruption if it was not resumed, or to `now`.
    pub fn wall_time(&self, now: Time) -> Span {
        self.ended_at.or(self.interrupted_at).unwrap_or(now).since(self.submitted_at)
    }

    /// The wall time without the [`interrupted_time`](Self::interrupted_time).
    pub fn led_time(&self, now: Time) -> Span {
        self.wall_time(now).saturating_sub(self.interrupted_time())
    }

    /// Returns a step; `None` if the index is not a step.
    pub fn step(&self, step: StepIx) -> Option<StepSummary<'_>> {
        self.plan.has_step(step).then_some(StepSummary { summary: self, step })
    }

    /// Returns all steps in plan order.
    pub fn steps(&self) -> impl Iterator<Item = StepSummary<'_>> {
        self.plan.nodes().filter_map(|node| self.step(node))
    }

    /// Returns the steps that workers hold, in plan order. The cost does not depend on the size of the run.
    pub fn held(&self) -> impl Iterator<Item = StepSummary<'_>> {
        self.held.iter().map(|step| StepSummary { summary: self, step: *step })
    }

    /// The number of distinct workers that have held a step.
    pub fn workers_met_count(&self) -> usize {
        self.workers_met.len()
    }

    /// Returns the index of a worker; adds it if needed.
    pub(super) fn worker_index(&mut self, id: WorkerId) -> u32 {
        let place = self.workers.iter().position(|known| known.id == id);
        let place = place.unwrap_or_else(|| {
            self.workers.push(KnownWorker {
                id,
                name: id.to_string().into(),
                labels: None,
                slots: None,
            });
            self.workers.len() - 1
        });
        u32::try_from(place).unwrap_or(NONE)
    }

    /// Returns the labels of the workers, as far as they are known.
    pub(super) fn worker_labels(&self) -> impl Iterator<Item = &Labels> {
        self.workers.iter().filter_map(|known| known.labels.as_ref())
    }

    fn ready_from_the_start(&mut self) {
        for at in 0..self.nodes.len() {
            let step = StepIx(u32::try_from(at).unwrap_or(NONE));
            if self.nodes[at].remaining == 0 && self.plan.has_step(step) {
                self.set_status(step, StepStatus::Ready);
            }
        }
    }

    /// Sets the status of a step.
    pub(super) fn set_status(&mut self, step: StepIx, to: StepStatus) {
        let from = std::mem::replace(&mut self.nodes[step.0 as usize].status, to);
        self.status_counts.moved(from, to);
        if to.is_held() {
            self.held.insert(step);
        } else {
            self.held.remove(&step);
        }
    }
}
