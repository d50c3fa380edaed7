//! Spans, folded from events.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::{TraceContext, TraceParent};
use super::span::{SpanAttribute, TraceSpan};
use super::span_status::{outcome_span_status, run_span_status, step_span_status};
use crate::engine::{Event, StepFollowUp, event};
use crate::id::{Fence, RunId, StepIx, WorkerId};
use crate::outcome::{Outcome, RunStatus, StepStatus};
use crate::plan::Plan;
use crate::time::Time;

/// The spans that have begun and not ended. Spans contain no values of users: no outputs, no params, and nothing that a
/// condition read.
#[derive(Debug, Default)]
pub struct TraceSpanFold {
    runs: BTreeMap<RunId, OpenRunSpan>,
    workers: BTreeMap<WorkerId, Box<str>>,
    parent: Option<TraceParent>,
}

#[derive(Debug)]
struct OpenRunSpan {
    context: TraceContext,
    plan: Arc<Plan>,
    began: Time,
    /// The time of the first delivery of each step that has not ended.
    steps: BTreeMap<StepIx, Time>,
    leases: BTreeMap<Fence, OpenLeaseSpan>,
    /// When the run was interrupted, while it is.
    interrupted: Option<Time>,
}

#[derive(Debug)]
struct OpenLeaseSpan {
    attempt: u16,
    delivery: u16,
    worker: WorkerId,
    granted: Time,
    started: Option<Time>,
}

type SpanAttributes = Vec<(&'static str, SpanAttribute)>;

impl TraceSpanFold {
    /// Sets the name of a worker that registered before the first event.
    pub fn set_worker_name(&mut self, worker: WorkerId, name: &str) {
        self.workers.insert(worker, name.into());
    }

    /// Makes runs that are submitted from now on a part of this trace.
    pub fn set_parent(&mut self, parent: Option<TraceParent>) {
        self.parent = parent;
    }

    /// Folds an event, and returns the spans that ended with it.
    pub fn fold(&mut self, at: Time, event: &Event) -> Vec<TraceSpan> {
        if let Event::WorkerRegistered(event::WorkerRegistered { worker, name, .. }) = event {
            self.workers.insert(*worker, name.clone());
        }
        if let Event::WorkerForgotten(event::WorkerForgotten { worker }) = event {
            self.workers.remove(worker);
        }
        if let Event::RunSubmitted(event::RunSubmitted { run, plan, reused, .. }) = event {
            let opened = OpenRunSpan {
                context: TraceContext::new(*run, self.parent),
                plan: Arc::clone(plan),
                began: at,
                steps: BTreeMap::new(),
                leases: BTreeMap::new(),
                interrupted: None,
            };
            let cached = |step| opened.step_span(step, at, StepStatus::Cached);
            let cached = reused.iter().map(|reused| cached(reused.step)).collect();
            self.runs.insert(*run, opened);
            return cached;
        }
        if let Event::RunResumed(event) = event {
            self.resume(at, event);
            return Vec::new();
        }
        if let Event::RunSealed(event::RunSealed { run }) = event {
            // Only an interrupted run is still open.
            let sealed = self.runs.remove(run);
            return sealed.and_then(OpenRunSpan::interrupted_span).into_iter().collect();
        }
        if let Event::RunEnded(event::RunEnded { run, status }) = event {
            return self
                .runs
                .remove(run)
                .map(|open| open.run_span(at, *status))
                .into_iter()
                .collect();
        }
        let Some(open) = event.run().and_then(|run| self.runs.get_mut(&run)) else {
            return Vec::new();
        };
        open.fold(at, event, &self.workers)
    }

    /// Continues the span of an interrupted run. A run that was sealed before has a second span from here.
    fn resume(&mut self, at: Time, event: &event::RunResumed) {
        let opened = || OpenRunSpan {
            context: TraceContext::new(event.run, self.parent),
            plan: Arc::clone(&event.plan),
            began: at,
            steps: BTreeMap::new(),
            leases: BTreeMap::new(),
            interrupted: None,
        };
        self.runs.entry(event.run).or_insert_with(opened).interrupted = None;
    }
}

impl OpenRunSpan {
    fn fold(
        &mut self,
        at: Time,
        event: &Event,
        workers: &BTreeMap<WorkerId, Box<str>>,
    ) -> Vec<TraceSpan> {
        if matches!(event, Event::RunInterrupted(_)) {
            self.interrupted = Some(at);
        }
        if let Event::Granted(event::Granted { step, attempt, delivery, worker, fence, .. }) = event
        {
            let (attempt, delivery, worker) = (*attempt, *delivery, *worker);
            let lease = OpenLeaseSpan { attempt, delivery, worker, granted: at, started: None };
            self.leases.insert(*fence, lease);
            self.steps.entry(*step).or_insert(at);
        }
        if let Event::Started(event::Started { fence, .. }) = event
            && let Some(lease) = self.leases.get_mut(fence)
        {
            lease.started.get_or_insert(at);
        }
        if let Event::LeaseEnded(event::LeaseEnded { step, fence, outcome, next, .. }) = event {
            let lease = self.leases.remove(fence).map(|lease| {
                let worker = workers.get(&lease.worker).map(ToString::to_string);
                let worker = worker.unwrap_or_else(|| lease.worker.to_string());
                self.delivery_span((*step, *fence), &lease, (at, outcome), worker)
            });
            let done = match next {
                StepFollowUp::Done(status) => Some(self.step_span(*step, at, *status)),
                StepFollowUp::Retry { .. } | StepFollowUp::Again { .. } => None,
            };
            if done.is_some() {
                self.steps.remove(step);
            }
            return lease.into_iter().chain(done).collect();
        }
        if let Event::StepSettled(event::StepSettled { step, settled, .. }) = event {
            let ended = self.step_span(*step, at, settled.status());
            self.steps.remove(step);
            return vec![ended];
        }
        Vec::new()
    }

    /// Returns the span of a delivery: from its grant to the end of its lease.
    fn delivery_span(
        &self,
        (step, fence): (StepIx, Fence),
        lease: &OpenLeaseSpan,
        (ended, outcome): (Time, &Outcome),
        worker: String,
    ) -> TraceSpan {
        let OpenLeaseSpan { attempt, delivery, .. } = *lease;
        let mut attributes = self.common_attributes(Some(step));
        attributes.push(("windlass.attempt", i64::from(attempt).into()));
        attributes.push(("windlass.delivery", i64::from(delivery).into()));
        attributes.push(("windlass.worker", worker.into()));
        attributes.push(("windlass.fence", number(fence.0).into()));
        attributes.push(("windlass.status", outcome.kind.to_string().into()));
        if let Some(code) = outcome.exit_code {
            attributes.push(("windlass.exit_code", i64::from(code).into()));
        }
        if let Some(started) = lease.started {
            let waited = started.since(lease.granted).as_millis();
            attributes.push(("windlass.start_ms", number(waited).into()));
        }
        TraceSpan {
            trace: self.context.trace(),
            id: self.context.attempt(step, attempt, delivery),
            parent: Some(self.context.step(step)),
            name: format!("{} attempt {attempt}", self.plan.name(step)),
            began: lease.granted,
            ended,
            status: outcome_span_status(outcome),
            attributes,
        }
    }

    /// Returns the span of a step: from its first delivery, if there was one, to its end.
    fn step_span(&self, step: StepIx, ended: Time, status: StepStatus) -> TraceSpan {
        let mut attributes = self.common_attributes(Some(step));
        attributes.push(("windlass.status", status.word().into()));
        TraceSpan {
            trace: self.context.trace(),
            id: self.context.step(step),
            parent: Some(self.context.run()),
            name: self.plan.name(step).to_owned(),
            began: self.steps.get(&step).copied().unwrap_or(ended),
            ended,
            status: step_span_status(status),
            attributes,
        }
    }

    /// Returns the span of a run that is sealed while it is interrupted.
    fn interrupted_span(self) -> Option<TraceSpan> {
        let at = self.interrupted?;
        Some(self.run_span(at, RunStatus::Interrupted))
    }

    /// Returns the span of the run: from its submission to its end.
    fn run_span(&self, ended: Time, status: RunStatus) -> TraceSpan {
        let mut attributes = self.common_attributes(None);
        attributes.push(("windlass.steps", i64::from(self.plan.step_count()).into()));
        attributes.push(("windlass.status", status.to_string().into()));
        TraceSpan {
            trace: self.context.trace(),
            id: self.context.run(),
            parent: self.context.parent(),
            name: self.plan.pipeline().to_owned(),
            began: self.began,
            ended,
            status: run_span_status(status),
            attributes,
        }
    }

    fn common_attributes(&self, step: Option<StepIx>) -> SpanAttributes {
        let run = ("windlass.run", self.context.run_id().to_string().into());
        let pipeline = ("windlass.pipeline", self.plan.pipeline().into());
        let step = step.map(|step| ("windlass.step", self.plan.name(step).into()));
        [run, pipeline].into_iter().chain(step).collect()
    }
}

/// Attributes of traces are signed numbers.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{LeaseEndKind, ReusedOutcome, RunOptions, StepSettlement};
    use crate::id::Seq;
    use crate::outcome::{OutcomeKind, StepOutput};
    use crate::plan::{PlanBuilder, StepSpec};

    const RUN: RunId = RunId(7);

    fn submitted() -> Event {
        let mut plan = PlanBuilder::new("ship");
        for step in ["build", "test", "kept"] {
            plan.step(step, StepSpec::default());
        }
        let plan = Arc::new(plan.build().expect("a valid plan"));
        let reused =
            vec![ReusedOutcome { step: StepIx(2), from: RunId(6), output: StepOutput::NONE }];
        Event::RunSubmitted(event::RunSubmitted {
            run: RUN,
            plan,
            options: RunOptions::default(),
            reused,
        })
    }

    fn granted(delivery: u16) -> Event {
        let (step, worker, fence) = (StepIx(0), WorkerId(3), Fence(delivery.into()));
        Event::Granted(event::Granted {
            run: RUN,
            step,
            attempt: 1,
            delivery,
            worker,
            fence,
            seq: Seq(1),
            expires: None,
        })
    }

    fn ended(fence: u64, outcome: Outcome, next: StepFollowUp) -> Event {
        let (step, fence, ended) = (StepIx(0), Fence(fence), LeaseEndKind::Reported);
        Event::LeaseEnded(event::LeaseEnded { run: RUN, step, fence, outcome, next, ended })
    }

    /// Returns one line per span: name, parent, beginning, end, status and the attribute that describes it.
    fn span_lines(
        spans: &mut TraceSpanFold,
        events: impl IntoIterator<Item = Event>,
    ) -> Vec<String> {
        let context = TraceContext::new(RUN, None);
        let names = [(context.run(), "ship"), (context.step(StepIx(0)), "build")];
        let line = |span: TraceSpan| {
            assert_eq!(span.trace, context.trace());
            let parent = names.iter().find(|(id, _)| Some(*id) == span.parent);
            let parent = parent.map_or("", |(_, name)| name);
            let status = span.attributes.iter().find(|(key, _)| *key == "windlass.status");
            let Some((_, SpanAttribute::Text(status))) = status else { panic!("{span:?}") };
            let (from, to) = (span.began.as_millis(), span.ended.as_millis());
            format!("{} of {parent:?} {from}..{to} {status} {:?}", span.name, span.status)
        };
        let fold = |(at, event)| spans.fold(Time::from_millis(at), &event);
        (1..).zip(events).flat_map(fold).map(line).collect()
    }

    #[test]
    fn every_delivery_and_every_undelivered_step_is_a_span() {
        let lost = Outcome::plain(OutcomeKind::Lost);
        let events = [
            submitted(),
            granted(1),
            ended(1, lost, StepFollowUp::Again { charged: true }),
            granted(2),
            Event::Started(event::Started { run: RUN, step: StepIx(0), fence: Fence(2) }),
            ended(2, Outcome::exit(0), StepFollowUp::Done(StepStatus::Succeeded)),
            Event::StepSettled(event::StepSettled {
                run: RUN,
                step: StepIx(1),
                settled: StepSettlement::CancelledWithRun,
            }),
            Event::RunEnded(event::RunEnded { run: RUN, status: RunStatus::Cancelled }),
        ];
        let mut spans = TraceSpanFold::default();
        let expected = [
            "kept of \"ship\" 1..1 cached Ok",
            "build attempt 1 of \"build\" 2..3 lost Error(\"lost\")",
            "build attempt 1 of \"build\" 4..6 succeeded Ok",
            "build of \"ship\" 2..6 succeeded Ok",
            "test of \"ship\" 7..7 cancelled Unset",
            "ship of \"\" 1..8 cancelled Unset",
        ];
        assert_eq!(span_lines(&mut spans, events), expected);
        assert!(spans.runs.is_empty(), "what has ended is forgotten");
        assert!(
            span_lines(&mut spans, [granted(3)]).is_empty(),
            "a run that is not known has no spans"
        );
    }
}
