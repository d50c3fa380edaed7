//! An interrupted run, read from the stores, and its continuation or end.

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;
use windlass_controller::{EngineView, NodeHandle, NotLeader};
use windlass_core::engine::{
    CancelLevel, EngineCall, RequestDenial, ResumeRun, RunOwner, UnplaceablePolicy,
};
use windlass_core::id::RunId;
use windlass_core::summary::RunSummary;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::db::StoreError;

use super::embedded_node::{EmbeddedNode, EmbeddedNodeError, LeaderOptions};
use super::owner_watch::OwnerWatch;
use super::store_reader::StoreReader;
use super::stores::Stores;

/// How long the processes of an interrupted run may take to end. Their guard kills them at once.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A run whose process has ended before it.
#[derive(Debug)]
pub(crate) struct InterruptedRun {
    /// The state of the run.
    pub(crate) summary: RunSummary,
    resume: ResumeRun,
}

impl InterruptedRun {
    /// Reads a run; `None` if it is not interrupted.
    pub(crate) async fn read(stores: &Stores, run: RunId) -> Result<Option<Self>, StoreError> {
        let records = StoreReader::read(stores.clone()).await?;
        let events = records.events(run).await?;
        let resume = ResumeRun::from_events(events.iter().map(|it| (it.at, &it.event)));
        let summary = records.summary(run).await?;
        Ok(resume.zip(summary).map(|(resume, summary)| Self { summary, resume }))
    }

    /// Resumes the run as the run of an owner. Repeating it is safe.
    pub(crate) async fn resume(
        &self,
        handle: &NodeHandle,
        owner: RunOwner,
    ) -> Result<Result<(), RequestDenial>, NotLeader> {
        let resume = self.resume.clone().owned_by(Some(owner));
        Ok(handle.call(EngineCall::resume(resume)).await?.map(drop))
    }

    /// Ends the run as cancelled. Repeating it is safe.
    pub(crate) async fn cancel(
        &self,
        handle: &NodeHandle,
    ) -> Result<Result<(), RequestDenial>, NotLeader> {
        let run = self.summary.run();
        // The engine may know nothing of an archived run: it gets the run back, and ends it. No worker runs its steps
        // meanwhile, and none of them ends for want of a worker.
        let mut resume = self.resume.clone();
        resume.options.unplaceable = UnplaceablePolicy::Wait;
        match handle.call(EngineCall::resume(resume)).await? {
            Ok(_) => handle.call(EngineCall::cancel(run, CancelLevel::Kill)).await,
            Err(denial) => Ok(Err(denial)),
        }
    }
}

/// Cancels a run in a folder on which no process works. `name` is that of this process, in case it has to lead.
pub(crate) async fn cancel_interrupted(
    folder: &Path,
    run: RunId,
    name: &str,
) -> Result<Result<(), RequestDenial>, EmbeddedNodeError> {
    let stores = Stores::open(folder)?;
    let mut node = EmbeddedNode::open(&stores, LeaderOptions::sharing(folder, name, None)).await?;
    node.until_it_reaches_leader().await?;
    let (shutdown, ends) = ShutdownSender::new();
    let watch = OwnerWatch::new(folder.to_owned(), node.handle().clone(), None);
    let watch = tokio::spawn(watch.run(ends));
    let cancelled = cancel_at_rest(&stores, node.handle(), run).await;
    shutdown.shut_down();
    drop(watch.await);
    node.shut_down().await?;
    cancelled
}

/// Waits until the processes of the run are known to have ended, and cancels it.
async fn cancel_at_rest(
    stores: &Stores,
    handle: &NodeHandle,
    run: RunId,
) -> Result<Result<(), RequestDenial>, EmbeddedNodeError> {
    until_at_rest(handle, run).await;
    let Some(interrupted) = InterruptedRun::read(stores, run).await? else {
        return Ok(Err(RequestDenial::RunNotInterrupted(run)));
    };
    let cancelled = interrupted.cancel(handle).await;
    Ok(cancelled.unwrap_or(Err(RequestDenial::RunNotInterrupted(run))))
}

/// Waits until the processes of a run whose owner has ended are gone; false if that takes too long.
pub(crate) async fn until_at_rest(handle: &NodeHandle, run: RunId) -> bool {
    let is_open =
        |view: &EngineView| view.engine.run_status(run).is_some_and(|status| !status.is_at_rest());
    timeout(ENDS_WITHIN, handle.views().wait_for(|view| !is_open(view))).await.is_ok()
}
