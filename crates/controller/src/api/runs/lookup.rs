//! Finds runs and steps by the text of a request, and the events of a run.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::engine::{Event, WorkerStatus, event};
use windlass_core::id::{RunId, StepIx, WorkerId};
use windlass_core::plan::Plan;
use windlass_core::summary::RunSummary;
use windlass_core::time::Time;
use windlass_store::archive;
use windlass_store::archive::RunRecord;
use windlass_store::journal::{Position, RecordedEvent};

use crate::NotLeader;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

/// The events in one read.
const PAGE: usize = 16_384;

/// The time limit for histories to catch up with the view. They follow it at once, and after a start within a second.
const CATCH_UP: Duration = Duration::from_secs(5);

/// Finds a run by `latest`, its id, or a prefix of its id.
pub(in crate::api) async fn find(api: &Api, text: &str) -> Result<RunId, ApiError> {
    let open: Vec<RunId> =
        api.handle.views().with(|view| view.engine.runs().map(|run| run.id).collect());
    Ok(archive::find_run(text, &open, &*api.stores.archive).await?)
}

/// Waits until all events that are durable now can be read.
pub(in crate::api) async fn caught_up(api: &Api) -> Result<(), ApiError> {
    let upto = api.handle.views().with(|view| view.position);
    let mut moved = api.stores.histories.moved();
    match timeout(CATCH_UP, moved.wait_for(|at| *at >= upto)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(NotLeader.into()),
    }
}

/// Returns the record of a run.
pub(in crate::api) async fn record(api: &Api, run: RunId) -> Result<RunRecord, ApiError> {
    if let Some(open) = api.stores.histories.record(run) {
        return Ok(open);
    }
    let sealed = api.stores.archive.run(run).await?;
    sealed.ok_or_else(|| ApiError::no_such_run(format!("there is no run {run} any more")))
}

/// Returns events of a run after a position. A run is archived before it is sealed, so it is always in one of the two.
pub(in crate::api) async fn behind(
    api: &Api,
    run: RunId,
    after: Position,
    most: usize,
) -> Result<Vec<Arc<RecordedEvent>>, ApiError> {
    match api.stores.histories.events(run, after, most) {
        Some(events) => Ok(events),
        None => Ok(api.stores.archive.events(run, after, most).await?),
    }
}

/// Returns the plan of a run.
pub(in crate::api) async fn plan(api: &Api, run: RunId) -> Result<Arc<Plan>, ApiError> {
    let open = api.handle.views().with(|view| Some(Arc::clone(view.engine.run(run)?.plan)));
    if let Some(plan) = open {
        return Ok(plan);
    }
    let first = api.stores.archive.events(run, Position(0), 1).await?.into_iter().next();
    match first.as_ref().map(|recorded| &recorded.event) {
        Some(
            Event::RunSubmitted(event::RunSubmitted { plan, .. })
            | Event::RunResumed(event::RunResumed { plan, .. }),
        ) => Ok(Arc::clone(plan)),
        _ => Err(ApiError::no_such_run(format!("there is no run {run} any more"))),
    }
}

/// Returns the slots of online workers, and since when they are online. The past times of other workers are not known.
pub(in crate::api) fn slots(api: &Api) -> Vec<(WorkerId, u32, Time)> {
    api.handle.views().with(|view| {
        let there = view.engine.workers().filter(|it| it.status == WorkerStatus::Online);
        there.map(|worker| (worker.id, worker.slots, worker.since)).collect()
    })
}

/// Folds the summary of a run from its events.
pub(in crate::api) async fn summary(api: &Api, run: RunId) -> Result<RunSummary, ApiError> {
    caught_up(api).await?;
    let first = behind(api, run, Position(0), 1).await?;
    let gone = || ApiError::no_such_run(format!("there is no run {run} any more"));
    let submitted = first.into_iter().next().ok_or_else(gone)?;
    let mut after = submitted.position;
    let mut summary =
        RunSummary::from_submitted(submitted.at, &submitted.event).ok_or_else(gone)?;
    for (worker, name) in record(api, run).await?.workers {
        summary.add_worker(worker, &name, None);
    }
    api.handle.views().with(|view| {
        for worker in view.engine.workers() {
            summary.add_worker(worker.id, &worker.name, Some(&worker.labels));
        }
    });
    for (worker, slots, since) in slots(api) {
        summary.set_worker_slots(worker, slots, since);
    }
    loop {
        let page = behind(api, run, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(summary) };
        after = last.position;
        for recorded in &page {
            summary.apply_event(recorded.at, &recorded.event);
        }
        // Yields between two pages of a large run, so that other requests are answered.
        tokio::task::yield_now().await;
    }
}

/// Finds a node of a plan by its index or its name.
pub(in crate::api) fn node(plan: &Plan, run: RunId, text: &str) -> Result<StepIx, ApiError> {
    // No name of a step begins with a digit.
    let found = match text.parse() {
        Ok(at) => Some(StepIx(at)).filter(|node| node.0 < plan.node_count()),
        Err(_) => plan.find(text),
    };
    found.ok_or_else(|| ApiError::no_such_step(run, text))
}
