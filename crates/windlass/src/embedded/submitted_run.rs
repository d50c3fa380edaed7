//! A run that this process submits to the leader inside it, and the events of such a run.

use std::sync::Arc;

use windlass_controller::{EngineView, EventFollower, FollowedEvents, NodeHandle, NotLeader};
use windlass_core::engine::{EngineCall, Event, RequestDenial, SubmitRun, SubmitWarning, event};
use windlass_core::id::RunId;
use windlass_core::summary::RunSummary;
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};

use super::clock::system_now;
use super::stores::Stores;

/// A run that the leader has accepted.
#[derive(Debug)]
pub(crate) struct SubmittedRun {
    /// The state of the run when it was submitted.
    pub(crate) summary: RunSummary,
    /// A position before its first event.
    pub(crate) from: Position,
}

impl SubmittedRun {
    /// Submits a run, unless the leader refuses it. Also returns warnings about its steps.
    pub(crate) async fn submit(
        handle: &NodeHandle,
        submit: SubmitRun,
    ) -> Result<Result<(Self, Vec<SubmitWarning>), RequestDenial>, NotLeader> {
        let from = handle.views().look(|view| view.position);
        let SubmitRun { run, plan, options, reused } = submit.clone();
        let warnings = match handle.call(EngineCall::submit(submit)).await? {
            Ok(warnings) => warnings,
            Err(denial) => return Ok(Err(denial)),
        };
        // Uses the journal's clock, like all later events.
        let submitted = |view: &EngineView| view.engine.run(run).map(|run| run.submitted_at);
        let at = handle.views().look(submitted).unwrap_or_else(system_now);
        let event = Event::RunSubmitted(event::RunSubmitted { run, plan, options, reused });
        let summary = RunSummary::from_submitted(at, &event).expect("the event is a submission");
        Ok(Ok((Self { summary: with_workers(summary, handle), from }, warnings)))
    }
}

/// Adds the leader and the workers that are known before the run.
fn with_workers(mut summary: RunSummary, handle: &NodeHandle) -> RunSummary {
    handle.views().look(|view| {
        summary.set_leader(view.engine.term(), None);
        for worker in view.engine.workers() {
            summary.add_worker(worker.id, &worker.name, Some(&worker.labels));
            summary.set_worker_slots(worker.id, worker.slots, summary.submitted_at());
        }
    });
    summary
}

/// Reads the events of one run, and those of the cluster, from the leader in this process.
#[derive(Debug)]
pub(crate) struct RunEventReader {
    run: RunId,
    follower: EventFollower,
}

impl RunEventReader {
    /// Reads behind a position.
    pub(crate) fn new(handle: &NodeHandle, stores: &Stores, run: RunId, from: Position) -> Self {
        Self { run, follower: handle.views().follow(&stores.journal, from) }
    }

    /// Waits until there may be events to read. The future can be dropped: no event is lost.
    pub(crate) async fn wait(&mut self) {
        self.follower.wait().await;
    }

    /// Reads the events that are there now, each once and in order.
    pub(crate) async fn read(&mut self) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        let news = self.follower.read().await?;
        let own = |it: &&Arc<RecordedEvent>| it.event.run().is_none_or(|of| of == self.run);
        Ok(news.iter().flat_map(FollowedEvents::iter).filter(own).map(Arc::clone).collect())
    }
}
