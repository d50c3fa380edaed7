//! A run that this process submits to the leader inside it, and the events of such a run.

use std::sync::Arc;

use windlass_controller::{
    EngineView, EventFollower, FollowedEvents, NodeHandle, NotLeader, PublishedEvents,
};
use windlass_core::engine::{EngineCall, Event, RequestDenial, SubmitRun, SubmitWarning, event};
use windlass_core::id::RunId;
use windlass_core::summary::RunSummary;
use windlass_core::time::Time;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, Position};

use super::clock::system_now;
use super::stores::Stores;

/// Events that are read from the journal at once.
const PAGE: usize = 16_384;

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
    journal: Arc<dyn Journal>,
}

/// Events that can be read.
#[derive(Debug)]
pub(crate) struct UnreadRunEvents {
    /// The position up to which all events were read before.
    behind: Position,
    events: FollowedEvents,
}

impl RunEventReader {
    /// Reads behind a position.
    pub(crate) fn new(handle: &NodeHandle, stores: &Stores, run: RunId, from: Position) -> Self {
        let journal = Arc::clone(&stores.journal);
        Self { run, follower: handle.views().follow(from), journal }
    }

    /// Waits for events. May be dropped while it waits: nothing is lost then.
    pub(crate) async fn wait(&mut self) -> UnreadRunEvents {
        let behind = self.follower.position();
        UnreadRunEvents { behind, events: self.follower.next().await }
    }

    /// Reads the events, each once and in order. What the leader no longer has in memory is in the journal.
    pub(crate) async fn read(
        &mut self,
        unread: UnreadRunEvents,
        mut each: impl FnMut(Position, Time, &Event),
    ) -> Result<(), StoreError> {
        let (run, behind) = (self.run, unread.behind);
        let mut read = |batch: &PublishedEvents| {
            for (position, (at, event)) in batch.numbered().filter(|(at, _)| *at > behind) {
                if event.run().is_none_or(|of| of == run) {
                    each(position, *at, event);
                }
            }
        };
        match unread.events {
            FollowedEvents::Events(batches) => batches.iter().for_each(|batch| read(batch)),
            FollowedEvents::Behind(from) => {
                for batch in self.journal.tail(from, PAGE).await? {
                    let position = batch.position;
                    let events = batch.events.into_iter().map(|it| (it.at, it.event)).collect();
                    read(&PublishedEvents::new(position, events));
                    self.follower.skip_to(position);
                }
            }
        }
        Ok(())
    }
}
