//! The summary of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::status_counts::StepStatusCounts;
use super::step_summary::{DeliveryRecord, NONE, StepSummary, SummaryNode};
use crate::engine::{CancelLevel, CancelReason, Event, RunOptions, StepSettlement};
use crate::id::{RunId, StepIx, Term, WorkerId};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::plan::{Plan, WorkerFacts};
use crate::requirement::Labels;
use crate::time::{Span, Time};

/// What became of one run, as far as its events have been [learned](Self::apply_event).
#[derive(Clone, Debug)]
pub struct RunSummary {
    pub(super) run: RunId,
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    pub(super) submitted_at: Time,
    pub(super) ended_at: Option<Time>,
    pub(super) status: RunStatus,
    pub(super) cancel: Option<(CancelLevel, CancelReason)>,
    /// When nobody led it: from the last that was recorded to the next leader, oldest first.
    pub(super) gaps: Vec<(Time, Time)>,
    /// When the newest event came.
    pub(super) last_event_at: Time,
    /// The newest term that was heard of, and its leader's own worker.
    pub(super) led: Option<(Term, Option<WorkerId>)>,
    pub(super) workers: Vec<KnownWorker>,
    pub(super) nodes: Box<[SummaryNode]>,
    pub(super) records: Vec<DeliveryRecord>,
    pub(super) settled: Vec<StepSettlement>,
    pub(super) outputs: BTreeMap<StepIx, StepOutput>,
    pub(super) reused: BTreeMap<StepIx, RunId>,
    /// Steps that are done once: the key of each, and who did it, where that was another.
    pub(super) keys: BTreeMap<StepIx, (Box<str>, Option<IdempotencyOrigin>)>,
    pub(super) held: BTreeSet<StepIx>,
    /// Places of the workers that held a step.
    pub(super) workers_met: BTreeSet<u32>,
    pub(super) status_counts: StepStatusCounts,
}

/// A worker that the run may have met. There are few, so they are searched one by one.
#[derive(Clone, Debug)]
pub(super) struct KnownWorker {
    pub(super) id: WorkerId,
    pub(super) name: Box<str>,
    /// `None`: only its name was told.
    pub(super) labels: Option<Labels>,
    /// Steps that it runs at a time, and since when, where that was told.
    pub(super) slots: Option<(u32, Time)>,
}

impl RunSummary {
    /// A run that was submitted at this moment, of which nothing else is known yet.
    pub fn new(at: Time, run: RunId, plan: Arc<Plan>, options: RunOptions) -> Self {
        let nodes = plan.nodes().map(|node| SummaryNode::new(plan.need_count(node))).collect();
        let tally = StepStatusCounts::waiting(plan.step_count());
        let mut summary = Self {
            run,
            options,
            submitted_at: at,
            ended_at: None,
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

    /// The run that this event began; `None` if it is another kind of event.
    pub fn from_submitted(at: Time, event: &Event) -> Option<Self> {
        let Event::RunSubmitted { run, plan, options, reused } = event else {
            return None;
        };
        let mut summary = Self::new(at, *run, Arc::clone(plan), *options);
        for taken in reused {
            summary.apply_reused(at, taken);
        }
        Some(summary)
    }

    /// Names a worker that registered before the run began, with its labels where they are known.
    pub fn add_worker(&mut self, id: WorkerId, name: &str, labels: Option<&Labels>) {
        let known = KnownWorker { id, name: name.into(), labels: labels.cloned(), slots: None };
        match self.workers.iter_mut().find(|known| known.id == id) {
            Some(former) => *former = KnownWorker { slots: former.slots, ..known },
            None => self.workers.push(known),
        }
    }

    /// Says which term the run was submitted under, so that only a later one counts as an interruption.
    pub fn set_leader(&mut self, term: Term, own: Option<WorkerId>) {
        self.led = Some((term, own));
    }

    /// Its id.
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// What is done.
    pub const fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// How it is done.
    pub const fn options(&self) -> RunOptions {
        self.options
    }

    /// Where it stands.
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

    /// When the newest that is known of it happened.
    pub const fn last_event_at(&self) -> Time {
        self.last_event_at
    }

    /// Whether, how hard and why it was told to end.
    pub const fn cancel(&self) -> Option<(CancelLevel, CancelReason)> {
        self.cancel
    }

    /// Whether it was ended because its deadline passed.
    pub const fn is_overdue(&self) -> bool {
        matches!(self.cancel, Some((_, CancelReason::Deadline)))
    }

    /// How often it lost its leader and went on under another: a kill, a crash, a fail-over.
    pub const fn interruptions(&self) -> usize {
        self.gaps.len()
    }

    /// How long nothing was recorded because nobody led it, all interruptions together.
    pub fn interrupted_time(&self) -> Span {
        self.gaps.iter().fold(Span::ZERO, |sum, (from, to)| sum + to.since(*from))
    }

    /// Steps by status.
    pub const fn status_counts(&self) -> StepStatusCounts {
        self.status_counts
    }

    /// From its submission to its end, or to `now` if it has not ended.
    pub fn wall_time(&self, now: Time) -> Span {
        self.ended_at.unwrap_or(now).since(self.submitted_at)
    }

    /// The same without the time in which nobody led it.
    pub fn led_time(&self, now: Time) -> Span {
        self.wall_time(now).saturating_sub(self.interrupted_time())
    }

    /// A step; `None` if there is none of that index.
    pub fn step(&self, step: StepIx) -> Option<StepSummary<'_>> {
        self.plan.has_step(step).then_some(StepSummary { summary: self, step })
    }

    /// Every step, in the order of the plan.
    pub fn steps(&self) -> impl Iterator<Item = StepSummary<'_>> {
        self.plan.nodes().filter_map(|node| self.step(node))
    }

    /// The steps that a worker holds now, in the order of the plan: the cost does not depend on the size of the run.
    pub fn held(&self) -> impl Iterator<Item = StepSummary<'_>> {
        self.held.iter().map(|step| StepSummary { summary: self, step: *step })
    }

    /// How many different workers have held a step of it.
    pub fn workers_met_count(&self) -> usize {
        self.workers_met.len()
    }

    /// Its place among the workers that are known, where it gets one.
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

    /// What is known of the workers whose labels are known, for placement.
    pub(super) fn worker_facts(&self) -> impl Iterator<Item = WorkerFacts<'_>> {
        let own = self.led.and_then(|(_, own)| own);
        self.workers.iter().filter_map(move |known| {
            let labels = known.labels.as_ref()?;
            Some(WorkerFacts { labels, name: &known.name, leads: own == Some(known.id) })
        })
    }

    fn ready_from_the_start(&mut self) {
        for at in 0..self.nodes.len() {
            let step = StepIx(u32::try_from(at).unwrap_or(NONE));
            if self.nodes[at].remaining == 0 && self.plan.has_step(step) {
                self.set_status(step, StepStatus::Ready);
            }
        }
    }

    /// Gives a step another status.
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
