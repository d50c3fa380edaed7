//! A run that this process submits to the leader inside it, and the events of such a run.

use std::sync::Arc;

use windlass_controller::{EngineView, EventFollower, FollowedEvents, NodeHandle, NotLeader};
use windlass_core::engine::{EngineCall, Event, RequestDenial, SubmitRun, SubmitWarning, event};
use windlass_core::id::{RunId, WorkerId};
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
        let from = handle.views().with(|view| view.position);
        let SubmitRun { run, plan, options, reused } = submit.clone();
        let warnings = match handle.call(EngineCall::submit(submit)).await? {
            Ok(warnings) => warnings,
            Err(denial) => return Ok(Err(denial)),
        };
        // Uses the journal's clock, like all later events.
        let submitted = |view: &EngineView| view.engine.run(run).map(|run| run.submitted_at);
        let at = handle.views().with(submitted).unwrap_or_else(system_now);
        let event = Event::RunSubmitted(event::RunSubmitted { run, plan, options, reused });
        let summary = RunSummary::from_submitted(at, &event).expect("the event is a submission");
        let only = options.owner.filter(|owner| !owner.shares).map(|owner| owner.worker);
        Ok(Ok((Self { summary: with_workers(summary, handle, only), from }, warnings)))
    }
}

/// Adds the leader and the workers that are known before the run, or the only one that runs its steps.
fn with_workers(
    mut summary: RunSummary,
    handle: &NodeHandle,
    only: Option<WorkerId>,
) -> RunSummary {
    handle.views().with(|view| {
        summary.set_leader(view.engine.term(), None);
        let workers = view.engine.workers();
        for worker in workers.filter(|worker| only.is_none_or(|only| only == worker.id)) {
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
    /// The only worker whose events are read; `None` for all.
    worker: Option<WorkerId>,
    follower: EventFollower,
}

impl RunEventReader {
    /// Reads behind a position.
    pub(crate) fn new(handle: &NodeHandle, stores: &Stores, run: RunId, from: Position) -> Self {
        Self { run, worker: None, follower: handle.views().follow(&stores.journal, from) }
    }

    /// Reads no events of workers other than this one: they are those of other processes.
    #[cfg(all(feature = "http", feature = "sqlite"))]
    pub(crate) fn of_worker(self, worker: WorkerId) -> Self {
        Self { worker: Some(worker), ..self }
    }

    /// Waits until there may be events to read. The future can be dropped: no event is lost.
    pub(crate) async fn wait(&mut self) {
        self.follower.wait().await;
    }

    /// Reads the events that are there now, each once and in order.
    pub(crate) async fn read(&mut self) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        let followed = self.follower.read().await?;
        let own = |it: &&Arc<RecordedEvent>| match it.event.run() {
            Some(of) => of == self.run,
            None => {
                self.worker.is_none_or(|own| changed_worker(&it.event).is_none_or(|of| of == own))
            }
        };
        Ok(followed.iter().flat_map(FollowedEvents::iter).filter(own).map(Arc::clone).collect())
    }
}

/// The worker that the event is about, if it is about a worker.
const fn changed_worker(event: &Event) -> Option<WorkerId> {
    if let Event::WorkerRegistered(event::WorkerRegistered { worker, .. })
    | Event::WorkerLost(event::WorkerLost { worker })
    | Event::WorkerReturned(event::WorkerReturned { worker })
    | Event::WorkerDrained(event::WorkerDrained { worker })
    | Event::WorkerEnded(event::WorkerEnded { worker, .. })
    | Event::WorkerForgotten(event::WorkerForgotten { worker }) = event
    {
        return Some(*worker);
    }
    None
}
