//! The summary of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::step::{NONE, Node, Record, Step};
use super::tally::Tally;
use crate::engine::{CancelLevel, CancelReason, Event, RunOptions, Settled};
use crate::id::{RunId, StepIx, Term, WorkerId};
use crate::once::Origin;
use crate::outcome::{Output, RunStatus, StepStatus};
use crate::plan::{Plan, WorkerFacts};
use crate::requirement::Labels;
use crate::time::{Span, Time};

/// What became of one run, as far as its events have been [learned](Self::learn).
#[derive(Clone, Debug)]
pub struct Summary {
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
    pub(super) heard_at: Time,
    /// The newest term that was heard of, and its leader's own worker.
    pub(super) led: Option<(Term, Option<WorkerId>)>,
    pub(super) workers: Vec<Known>,
    pub(super) nodes: Box<[Node]>,
    pub(super) records: Vec<Record>,
    pub(super) settled: Vec<Settled>,
    pub(super) outputs: BTreeMap<StepIx, Output>,
    pub(super) reused: BTreeMap<StepIx, RunId>,
    /// Steps that are done once: the key of each, and who did it, where that was another.
    pub(super) keys: BTreeMap<StepIx, (Box<str>, Option<Origin>)>,
    pub(super) held: BTreeSet<StepIx>,
    /// Places of the workers that held a step.
    pub(super) met: BTreeSet<u32>,
    pub(super) tally: Tally,
}

/// A worker that the run may have met. There are few, so they are searched one by one.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) id: WorkerId,
    pub(super) name: Box<str>,
    /// `None`: only its name was told.
    pub(super) labels: Option<Labels>,
    /// Steps that it runs at a time, and since when, where that was told.
    pub(super) slots: Option<(u32, Time)>,
}

impl Summary {
    /// A run that was submitted at this moment, of which nothing else is known yet.
    pub fn new(at: Time, run: RunId, plan: Arc<Plan>, options: RunOptions) -> Self {
        let nodes = plan.nodes().map(|node| Node::new(plan.need_count(node))).collect();
        let tally = Tally::waiting(plan.step_count());
        let mut summary = Self {
            run,
            options,
            submitted_at: at,
            ended_at: None,
            status: RunStatus::Running,
            cancel: None,
            gaps: Vec::new(),
            heard_at: at,
            led: None,
            workers: Vec::new(),
            nodes,
            records: Vec::new(),
            settled: Vec::new(),
            outputs: BTreeMap::new(),
            reused: BTreeMap::new(),
            keys: BTreeMap::new(),
            held: BTreeSet::new(),
            met: BTreeSet::new(),
            tally,
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
            summary.reuse(at, taken);
        }
        Some(summary)
    }

    /// Names a worker that registered before the run began, with its labels where they are known.
    pub fn know_worker(&mut self, id: WorkerId, name: &str, labels: Option<&Labels>) {
        let known = Known { id, name: name.into(), labels: labels.cloned(), slots: None };
        match self.workers.iter_mut().find(|known| known.id == id) {
            Some(former) => *former = Known { slots: former.slots, ..known },
            None => self.workers.push(known),
        }
    }

    /// Says which term the run was submitted under, so that only a later one counts as an interruption.
    pub fn know_leader(&mut self, term: Term, own: Option<WorkerId>) {
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
    pub const fn heard_at(&self) -> Time {
        self.heard_at
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
    pub fn interrupted(&self) -> Span {
        self.gaps.iter().fold(Span::ZERO, |sum, (from, to)| sum + to.since(*from))
    }

    /// Steps by status.
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// From its submission to its end, or to `now` if it has not ended.
    pub fn wall(&self, now: Time) -> Span {
        self.ended_at.unwrap_or(now).since(self.submitted_at)
    }

    /// The same without the time in which nobody led it.
    pub fn worked(&self, now: Time) -> Span {
        self.wall(now).less(self.interrupted())
    }

    /// A step; `None` if there is none of that index.
    pub fn step(&self, step: StepIx) -> Option<Step<'_>> {
        self.plan.has_step(step).then_some(Step { summary: self, step })
    }

    /// Every step, in the order of the plan.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.plan.nodes().filter_map(|node| self.step(node))
    }

    /// The steps that a worker holds now, in the order of the plan: the cost does not depend on the size of the run.
    pub fn held(&self) -> impl Iterator<Item = Step<'_>> {
        self.held.iter().map(|step| Step { summary: self, step: *step })
    }

    /// How many different workers have held a step of it.
    pub fn workers_met(&self) -> usize {
        self.met.len()
    }

    /// Its place among the workers that are known, where it gets one.
    pub(super) fn worker_place(&mut self, id: WorkerId) -> u32 {
        let place = self.workers.iter().position(|known| known.id == id);
        let place = place.unwrap_or_else(|| {
            self.workers.push(Known { id, name: id.to_string().into(), labels: None, slots: None });
            self.workers.len() - 1
        });
        u32::try_from(place).unwrap_or(NONE)
    }

    /// What is known of the workers whose labels are known, for placement.
    pub(super) fn facts(&self) -> impl Iterator<Item = WorkerFacts<'_>> {
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
                self.turn(step, StepStatus::Ready);
            }
        }
    }

    /// Gives a step another status.
    pub(super) fn turn(&mut self, step: StepIx, to: StepStatus) {
        let from = std::mem::replace(&mut self.nodes[step.0 as usize].status, to);
        self.tally.moved(from, to);
        if to.is_held() {
            self.held.insert(step);
        } else {
            self.held.remove(&step);
        }
    }
}
