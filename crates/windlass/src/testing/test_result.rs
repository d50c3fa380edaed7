//! The result of a pipeline test.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::engine::{Event, event};
use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::summary::RunSummary;
use windlass_store::journal::{Position, RecordedEvent};

use crate::embedded::Stores;
use crate::sdk::{Report, RunError};

/// Events per read.
const PAGE: usize = 16_384;

/// The report of a tested run, and its events.
#[derive(Debug)]
pub struct PipelineTestResult {
    report: Report,
    events: Vec<Arc<RecordedEvent>>,
    took: Duration,
}

impl PipelineTestResult {
    pub(super) async fn new(
        summary: RunSummary,
        stores: &Stores,
        (run, took): (RunId, Duration),
    ) -> Result<Self, RunError> {
        let mut events = Vec::new();
        let mut from = Position(0);
        loop {
            let batches = stores.journal.tail(from, PAGE).await?;
            let Some(last) = batches.last() else { break };
            from = last.position();
            let all = batches.iter().flat_map(|batch| &batch.events);
            let own = all.filter(|it| it.event.run().is_none_or(|of| of == run));
            events.extend(own.map(Arc::clone));
        }
        let report = Report::new(summary, Arc::clone(&stores.logs)).await;
        Ok(Self { report, events, took })
    }

    /// The report of the run, with typed results.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The duration of the run, by the clock of the runtime.
    pub const fn took(&self) -> Duration {
        self.took
    }

    /// The events of the run and of the cluster, in order.
    pub fn events(&self) -> &[Arc<RecordedEvent>] {
        &self.events
    }

    /// The names of the workers that a step or cell was granted to, in order.
    pub fn workers_of(&self, step: &str) -> Vec<String> {
        let summary = self.report.summary();
        let step = summary.plan().find(step).and_then(|step| summary.step(step));
        let tries = step.map(|step| step.deliveries()).unwrap_or_default();
        tries.iter().map(|one| one.worker.to_owned()).collect()
    }

    /// Whether one step had ended before another was first granted.
    pub fn ended_before(&self, one: &str, other: &str) -> bool {
        let plan = self.report.summary().plan();
        let (Some(one), Some(other)) = (plan.find(one), plan.find(other)) else { return false };
        let is_end = |event: &Event| matches!(event, Event::LeaseEnded(event::LeaseEnded { step, .. }) if *step == one);
        let is_grant = |event: &Event| matches!(event, Event::Granted(event::Granted { step, .. }) if *step == other);
        let end = self.events.iter().rposition(|recorded| is_end(&recorded.event));
        let grant = self.events.iter().position(|recorded| is_grant(&recorded.event));
        matches!((end, grant), (Some(end), Some(grant)) if end < grant)
    }

    /// The run as text, one line per grant, end, lost worker and verdict, to be compared as a whole.
    pub fn transcript(&self) -> String {
        let tale = EventTranscript { plan: self.report.summary().plan(), events: &self.events };
        tale.to_string()
    }
}

struct EventTranscript<'a> {
    plan: &'a Plan,
    events: &'a [Arc<RecordedEvent>],
}

impl EventTranscript<'_> {
    fn worker(&self, id: windlass_core::id::WorkerId) -> &str {
        let mut registered = self.events.iter().filter_map(|recorded| match &recorded.event {
            Event::WorkerRegistered(event::WorkerRegistered { worker, name, .. })
                if *worker == id =>
            {
                Some(&**name)
            }
            _ => None,
        });
        registered.next().unwrap_or("an unknown worker")
    }

    fn line(&self, event: &Event) -> Option<String> {
        let name = |step| self.plan.name(step);
        Some(match event {
            Event::Granted(event::Granted { step, worker, .. }) => {
                format!("{} is granted to {}", name(*step), self.worker(*worker))
            }
            Event::LeaseEnded(event::LeaseEnded { step, outcome, .. }) => {
                format!("{} {}", name(*step), outcome.kind)
            }
            Event::StepSettled(event::StepSettled { step, settled, .. }) => {
                format!("{} {}", name(*step), settled.status())
            }
            Event::WorkerLost(event::WorkerLost { worker }) => {
                format!("{} is lost", self.worker(*worker))
            }
            Event::RunEnded(event::RunEnded { status, .. }) => format!("the run {status}"),
            _ => return None,
        })
    }
}

impl fmt::Display for EventTranscript<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.events.iter().filter_map(|recorded| self.line(&recorded.event));
        lines.try_for_each(|line| writeln!(f, "{line}"))
    }
}
