//! Spans, folded from events.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::{TraceContext, TraceParent};
use super::span::{Attribute, Span, SpanStatus};
use crate::engine::{Event, Next};
use crate::id::{Fence, RunId, StepIx, WorkerId};
use crate::outcome::{Outcome, OutcomeKind, RunStatus, StepStatus};
use crate::plan::Plan;
use crate::time::Time;

/// What has begun and not ended. No value of a user's is in a span: neither an output, nor a param, nor what a condition
/// read.
#[derive(Debug, Default)]
pub struct Spans {
    runs: BTreeMap<RunId, OpenRun>,
    workers: BTreeMap<WorkerId, Box<str>>,
    parent: Option<TraceParent>,
}

#[derive(Debug)]
struct OpenRun {
    context: TraceContext,
    plan: Arc<Plan>,
    began: Time,
    /// When each step was first handed out; those that have not ended.
    steps: BTreeMap<StepIx, Time>,
    leases: BTreeMap<Fence, OpenLease>,
}

#[derive(Debug)]
struct OpenLease {
    attempt: u16,
    delivery: u16,
    worker: WorkerId,
    granted: Time,
    started: Option<Time>,
}

type Attributes = Vec<(&'static str, Attribute)>;

impl Spans {
    /// Learns the name of a worker that registered before the events that will be folded.
    pub fn know_worker(&mut self, worker: WorkerId, name: &str) {
        self.workers.insert(worker, name.into());
    }

    /// Runs that are submitted from now on are a part of this.
    pub fn set_parent(&mut self, parent: Option<TraceParent>) {
        self.parent = parent;
    }

    /// Folds an event, and returns the spans that ended with it.
    pub fn fold(&mut self, at: Time, event: &Event) -> Vec<Span> {
        if let Event::WorkerRegistered { worker, name, .. } = event {
            self.workers.insert(*worker, name.clone());
        }
        if let Event::WorkerForgotten { worker } = event {
            self.workers.remove(worker);
        }
        if let Event::RunSubmitted { run, plan, reused, .. } = event {
            let opened = OpenRun {
                context: TraceContext::new(*run, self.parent),
                plan: Arc::clone(plan),
                began: at,
                steps: BTreeMap::new(),
                leases: BTreeMap::new(),
            };
            let cached = |step| opened.step(step, at, StepStatus::Cached);
            let cached = reused.iter().map(|reused| cached(reused.step)).collect();
            self.runs.insert(*run, opened);
            return cached;
        }
        if let Event::RunEnded { run, status } = event {
            return self.runs.remove(run).map(|open| open.ended(at, *status)).into_iter().collect();
        }
        let Some(open) = event.run().and_then(|run| self.runs.get_mut(&run)) else {
            return Vec::new();
        };
        open.fold(at, event, &self.workers)
    }
}

impl OpenRun {
    fn fold(
        &mut self,
        at: Time,
        event: &Event,
        workers: &BTreeMap<WorkerId, Box<str>>,
    ) -> Vec<Span> {
        if let Event::Granted { step, attempt, delivery, worker, fence, .. } = event {
            let (attempt, delivery, worker) = (*attempt, *delivery, *worker);
            let lease = OpenLease { attempt, delivery, worker, granted: at, started: None };
            self.leases.insert(*fence, lease);
            self.steps.entry(*step).or_insert(at);
        }
        if let Event::Started { fence, .. } = event
            && let Some(lease) = self.leases.get_mut(fence)
        {
            lease.started.get_or_insert(at);
        }
        if let Event::Ended { step, fence, outcome, next, .. } = event {
            let lease = self.leases.remove(fence).map(|lease| {
                let worker = workers.get(&lease.worker).map(ToString::to_string);
                let worker = worker.unwrap_or_else(|| lease.worker.to_string());
                self.attempt((*step, *fence), &lease, (at, outcome), worker)
            });
            let done = match next {
                Next::Done(status) => Some(self.step(*step, at, *status)),
                Next::Retry { .. } | Next::Again { .. } => None,
            };
            if done.is_some() {
                self.steps.remove(step);
            }
            return lease.into_iter().chain(done).collect();
        }
        if let Event::StepSettled { step, settled, .. } = event {
            let ended = self.step(*step, at, settled.status());
            self.steps.remove(step);
            return vec![ended];
        }
        Vec::new()
    }

    /// The span of a hand-out: from when it was granted to when its lease ended.
    fn attempt(
        &self,
        (step, fence): (StepIx, Fence),
        lease: &OpenLease,
        (ended, outcome): (Time, &Outcome),
        worker: String,
    ) -> Span {
        let OpenLease { attempt, delivery, .. } = *lease;
        let mut attributes = self.about(Some(step));
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
        Span {
            trace: self.context.trace(),
            id: self.context.attempt(step, attempt, delivery),
            parent: Some(self.context.step(step)),
            name: format!("{} attempt {attempt}", self.plan.name(step)),
            began: lease.granted,
            ended,
            status: of_outcome(outcome),
            attributes,
        }
    }

    /// The span of a step: from when it was first handed out, if it was, to when it ended.
    fn step(&self, step: StepIx, ended: Time, status: StepStatus) -> Span {
        let mut attributes = self.about(Some(step));
        attributes.push(("windlass.status", status.word().into()));
        Span {
            trace: self.context.trace(),
            id: self.context.step(step),
            parent: Some(self.context.run()),
            name: self.plan.name(step).to_owned(),
            began: self.steps.get(&step).copied().unwrap_or(ended),
            ended,
            status: of_step(status),
            attributes,
        }
    }

    /// The span of the run: from its submission to its end.
    fn ended(&self, ended: Time, status: RunStatus) -> Span {
        let mut attributes = self.about(None);
        attributes.push(("windlass.steps", i64::from(self.plan.step_count()).into()));
        attributes.push(("windlass.status", status.to_string().into()));
        Span {
            trace: self.context.trace(),
            id: self.context.run(),
            parent: self.context.parent(),
            name: self.plan.pipeline().to_owned(),
            began: self.began,
            ended,
            status: of_run(status),
            attributes,
        }
    }

    fn about(&self, step: Option<StepIx>) -> Attributes {
        let run = ("windlass.run", self.context.run_id().to_string().into());
        let pipeline = ("windlass.pipeline", self.plan.pipeline().into());
        let step = step.map(|step| ("windlass.step", self.plan.name(step).into()));
        [run, pipeline].into_iter().chain(step).collect()
    }
}

fn of_outcome(outcome: &Outcome) -> SpanStatus {
    match outcome.kind {
        OutcomeKind::Succeeded => SpanStatus::Ok,
        OutcomeKind::Failed => SpanStatus::Error(match outcome.exit_code {
            Some(code) => format!("exit code {code}"),
            None => "failed".to_owned(),
        }),
        OutcomeKind::TimedOut | OutcomeKind::Lost => SpanStatus::Error(outcome.kind.to_string()),
        OutcomeKind::Cancelled | OutcomeKind::Released => SpanStatus::Unset,
    }
}

fn of_step(status: StepStatus) -> SpanStatus {
    match status {
        StepStatus::Succeeded | StepStatus::Cached => SpanStatus::Ok,
        StepStatus::Failed | StepStatus::TimedOut => SpanStatus::Error(status.word().to_owned()),
        StepStatus::Waiting
        | StepStatus::Ready
        | StepStatus::Leased
        | StepStatus::Running
        | StepStatus::Cancelled
        | StepStatus::Skipped
        | StepStatus::Blocked => SpanStatus::Unset,
    }
}

fn of_run(status: RunStatus) -> SpanStatus {
    match status {
        RunStatus::Succeeded => SpanStatus::Ok,
        RunStatus::Failed => SpanStatus::Error(status.to_string()),
        RunStatus::Running | RunStatus::Cancelling | RunStatus::Cancelled => SpanStatus::Unset,
    }
}

/// Numbers of traces are signed.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EndedAs, Reused, RunOptions, Settled};
    use crate::id::Seq;
    use crate::outcome::Output;
    use crate::plan::{PlanBuilder, StepSpec};

    const RUN: RunId = RunId(7);

    fn submitted() -> Event {
        let mut plan = PlanBuilder::new("ship");
        for step in ["build", "test", "kept"] {
            plan.step(step, StepSpec::default());
        }
        let plan = Arc::new(plan.build().expect("a valid plan"));
        let reused = vec![Reused { step: StepIx(2), from: RunId(6), output: Output::None }];
        Event::RunSubmitted { run: RUN, plan, options: RunOptions::default(), reused }
    }

    fn granted(delivery: u16) -> Event {
        let (step, worker, fence) = (StepIx(0), WorkerId(3), Fence(delivery.into()));
        Event::Granted {
            run: RUN,
            step,
            attempt: 1,
            delivery,
            worker,
            fence,
            seq: Seq(1),
            expires: None,
        }
    }

    fn ended(fence: u64, outcome: Outcome, next: Next) -> Event {
        let (step, fence, ended) = (StepIx(0), Fence(fence), EndedAs::Reported);
        Event::Ended { run: RUN, step, fence, outcome, next, ended }
    }

    /// Spans in a line each: name, parent, from, to, status and the one attribute that has it in words.
    fn told(spans: &mut Spans, events: impl IntoIterator<Item = Event>) -> Vec<String> {
        let context = TraceContext::new(RUN, None);
        let names = [(context.run(), "ship"), (context.step(StepIx(0)), "build")];
        let line = |span: Span| {
            assert_eq!(span.trace, context.trace());
            let parent = names.iter().find(|(id, _)| Some(*id) == span.parent);
            let parent = parent.map_or("", |(_, name)| name);
            let status = span.attributes.iter().find(|(key, _)| *key == "windlass.status");
            let Some((_, Attribute::Text(status))) = status else { panic!("{span:?}") };
            let (from, to) = (span.began.as_millis(), span.ended.as_millis());
            format!("{} of {parent:?} {from}..{to} {status} {:?}", span.name, span.status)
        };
        let fold = |(at, event)| spans.fold(Time::from_millis(at), &event);
        (1..).zip(events).flat_map(fold).map(line).collect()
    }

    #[test]
    fn each_hand_out_is_a_span_and_so_is_what_was_never_handed_out() {
        let lost = Outcome::plain(OutcomeKind::Lost);
        let events = [
            submitted(),
            granted(1),
            ended(1, lost, Next::Again { charged: true }),
            granted(2),
            Event::Started { run: RUN, step: StepIx(0), fence: Fence(2) },
            ended(2, Outcome::exit(0), Next::Done(StepStatus::Succeeded)),
            Event::StepSettled { run: RUN, step: StepIx(1), settled: Settled::CancelledWithRun },
            Event::RunEnded { run: RUN, status: RunStatus::Cancelled },
        ];
        let mut spans = Spans::default();
        let expected = [
            "kept of \"ship\" 1..1 cached Ok",
            "build attempt 1 of \"build\" 2..3 lost Error(\"lost\")",
            "build attempt 1 of \"build\" 4..6 succeeded Ok",
            "build of \"ship\" 2..6 succeeded Ok",
            "test of \"ship\" 7..7 cancelled Unset",
            "ship of \"\" 1..8 cancelled Unset",
        ];
        assert_eq!(told(&mut spans, events), expected);
        assert!(spans.runs.is_empty(), "what has ended is forgotten");
        assert!(told(&mut spans, [granted(3)]).is_empty(), "a run that is not known has no spans");
    }
}
