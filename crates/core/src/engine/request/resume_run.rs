//! The request to resume an interrupted run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::event::{
    self, Event, RunOptions, RunOwner, RunProgress, StepBlocker, StepFollowUp, StepProgress,
    StepSettlement,
};
use crate::id::{Fence, RunId, StepIx};
use crate::outcome::{OutcomeKind, StepStatus};
use crate::plan::{OnFailure, Plan};
use crate::session::StopReason;
use crate::time::{Span, Time};

/// An interrupted run that is to continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResumeRun {
    /// The run's id.
    pub run: RunId,
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// The options from now on: those of the run, with the new owner and the rest of the timeout.
    pub options: RunOptions,
    /// How far the run had come. If the engine still has the run, its own state counts.
    pub progress: RunProgress,
}

impl ResumeRun {
    /// Returns the request that resumes an interrupted run without an owner. `events` are all events of the run, in
    /// order; other events between them are ignored, except that time without a leader does not count against the
    /// timeout. `None` if the run is not interrupted, or its events are incomplete.
    pub fn from_events<'e>(events: impl IntoIterator<Item = (Time, &'e Event)>) -> Option<Self> {
        let mut fold: Option<RunProgressFold> = None;
        for (at, event) in events {
            match &mut fold {
                None => fold = RunProgressFold::begin(at, event),
                Some(fold) => fold.apply(at, event),
            }
        }
        fold?.interrupted()
    }

    /// The same request for a run that belongs to this owner from now on.
    #[must_use]
    pub fn owned_by(mut self, owner: Option<RunOwner>) -> Self {
        self.options.owner = owner;
        self
    }
}

/// Folds the events of one run.
#[derive(Debug)]
struct RunProgressFold {
    run: RunId,
    plan: Arc<Plan>,
    options: RunOptions,
    submitted_at: Time,
    /// When the run was submitted, or resumed last.
    active_since: Time,
    /// The time without a leader since then.
    absent: Span,
    last_event_at: Time,
    interrupted_at: Option<Time>,
    failed: Option<StepIx>,
    superseded: bool,
    /// Leases that were ordered to end because a newer run superseded theirs.
    superseded_leases: BTreeSet<Fence>,
    steps: BTreeMap<StepIx, StepProgress>,
    /// The ends of back-offs.
    backoffs: BTreeMap<StepIx, Time>,
}

impl RunProgressFold {
    fn begin(at: Time, event: &Event) -> Option<Self> {
        let (run, plan, options) = if let Event::RunSubmitted(it) = event {
            (it.run, &it.plan, it.options)
        } else if let Event::RunResumed(it) = event {
            (it.run, &it.plan, it.options)
        } else {
            return None;
        };
        let mut fold = Self {
            run,
            plan: Arc::clone(plan),
            options,
            submitted_at: at,
            active_since: at,
            absent: Span::ZERO,
            last_event_at: at,
            interrupted_at: None,
            failed: None,
            superseded: false,
            superseded_leases: BTreeSet::new(),
            steps: BTreeMap::new(),
            backoffs: BTreeMap::new(),
        };
        fold.apply(at, event);
        Some(fold)
    }

    fn interrupted(self) -> Option<ResumeRun> {
        let interrupted_at = self.interrupted_at?;
        let active = interrupted_at.since(self.active_since).saturating_sub(self.absent);
        let timeout = self.options.timeout.map(|timeout| timeout.saturating_sub(active));
        let (failed, superseded) = (self.failed, self.superseded);
        let steps = self.steps.into_values().filter(|step| !step.is_fresh()).map(|step| {
            let until = self.backoffs.get(&step.step);
            let backoff = until.map_or(Span::ZERO, |until| until.since(interrupted_at));
            StepProgress { backoff, ..step }
        });
        let progress = RunProgress {
            submitted_at: self.submitted_at,
            interrupted_at,
            failed,
            superseded,
            steps: steps.collect(),
        };
        let options = RunOptions { timeout, owner: None, ..self.options };
        Some(ResumeRun { run: self.run, plan: self.plan, options, progress })
    }

    /// A foreign journal must not cause a panic.
    fn step(&mut self, step: StepIx) -> Option<&mut StepProgress> {
        let known = self.plan.has_step(step);
        known.then(|| self.steps.entry(step).or_insert_with(|| StepProgress::fresh(step)))
    }

    fn apply(&mut self, at: Time, event: &Event) {
        if event.run().is_some_and(|run| run != self.run) {
            return;
        }
        self.apply_to_run(at, event);
        self.last_event_at = at;
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "few events change how far a run has come, and none of them is about the cluster"
    )]
    fn apply_to_run(&mut self, at: Time, event: &Event) {
        match event {
            Event::Led(_) => self.absent = self.absent + at.since(self.last_event_at),
            Event::RunSubmitted(it) => self.reuse(&it.reused),
            Event::RunInterrupted(_) => self.interrupted_at = Some(at),
            Event::RunResumed(it) => self.resume(at, it),
            Event::RunCancelled(_) | Event::RunEnded(_) => self.interrupted_at = None,
            Event::Granted(it) => self.granted(it),
            Event::StopOrdered(it) if it.why == StopReason::Superseded => {
                self.superseded_leases.insert(it.fence);
            }
            Event::LeaseEnded(it) => self.lease_ended(it),
            Event::BackoffEnded(event::BackoffEnded { step, .. })
            | Event::KeyTaken(event::KeyTaken { step, .. })
            | Event::KeyAwaited(event::KeyAwaited { step, .. }) => {
                self.backoffs.remove(step);
            }
            Event::StepSettled(it) => self.settled(it.step, &it.settled),
            Event::KeyRecalled(it) => {
                if let Some(step) = self.step(it.step) {
                    (step.status, step.output) = (StepStatus::Cached, it.output.clone());
                }
                self.backoffs.remove(&it.step);
            }
            _ => {}
        }
    }

    fn reuse(&mut self, reused: &[event::ReusedOutcome]) {
        for reuse in reused {
            if let Some(step) = self.step(reuse.step) {
                (step.status, step.output) = (StepStatus::Cached, reuse.output.clone());
            }
        }
    }

    fn resume(&mut self, at: Time, event: &event::RunResumed) {
        let progress = &event.progress;
        (self.options, self.active_since, self.absent) = (event.options, at, Span::ZERO);
        (self.failed, self.superseded) = (progress.failed, progress.superseded);
        (self.submitted_at, self.interrupted_at) = (progress.submitted_at, None);
        self.steps = progress.steps.iter().map(|step| (step.step, step.clone())).collect();
        let backs_off = |step: &&StepProgress| step.backoff > Span::ZERO;
        let waiting = progress.steps.iter().filter(backs_off);
        self.backoffs = waiting.map(|step| (step.step, at + step.backoff)).collect();
    }

    fn granted(&mut self, event: &event::Granted) {
        self.backoffs.remove(&event.step);
        if let Some(step) = self.step(event.step) {
            (step.attempt, step.delivery) = (event.attempt, event.delivery);
            step.fence = event.fence;
        }
    }

    fn lease_ended(&mut self, event: &event::LeaseEnded) {
        let superseded = self.superseded_leases.remove(&event.fence);
        let Some(step) = self.step(event.step) else { return };
        match event.next {
            StepFollowUp::Done(status) => {
                step.status = status;
                if event.outcome.kind == OutcomeKind::Succeeded {
                    step.output = event.outcome.output.clone();
                }
                self.superseded |= superseded && status == StepStatus::Cancelled;
                self.note_failure(event.step, status);
            }
            StepFollowUp::Retry { at, .. } => {
                (step.attempt, step.delivery, step.losses) = (step.attempt + 1, 0, 0);
                self.backoffs.insert(event.step, at);
            }
            StepFollowUp::Again { charged } => step.losses += u16::from(charged),
        }
    }

    fn settled(&mut self, ended: StepIx, settled: &StepSettlement) {
        self.backoffs.remove(&ended);
        self.superseded |= matches!(settled, StepSettlement::Superseded { .. });
        let Some(step) = self.step(ended) else { return };
        step.status = settled.status();
        step.blocker = StepBlocker::of_settlement(settled);
        self.note_failure(ended, settled.status());
    }

    fn note_failure(&mut self, step: StepIx, status: StepStatus) {
        let failed = matches!(status, StepStatus::Failed | StepStatus::TimedOut);
        let spec = self.plan.spec(step);
        if failed && spec.is_some_and(|spec| spec.on_failure != OnFailure::Ignore) {
            self.failed.get_or_insert(step);
        }
    }
}
