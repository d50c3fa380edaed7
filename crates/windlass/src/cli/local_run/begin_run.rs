//! The run itself: a new one is submitted, an interrupted one is resumed.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_controller::{NodeHandle, NotLeader};
use windlass_core::engine::{ParentStep, RunOptions, RunOwner, SubmitRun, SubmitWarning};
use windlass_core::id::RunId;
use windlass_core::summary::RunSummary;
use windlass_net::random::new_run_id;
use windlass_store::journal::Position;

use super::options::{LocalRunKind, LocalRunOptions};
use super::resume::{note_interrupted, resume};
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::output::{self, ColorRole};
use crate::embedded::{InterruptedRun, Stores, SubmittedRun, system_now, until_at_rest};

/// The pause before a request is repeated that no leader has answered. The next leader takes over within milliseconds.
const REPEAT_AFTER: Duration = Duration::from_millis(10);

/// A run that is followed.
#[derive(Debug)]
pub(super) struct FollowedRun {
    /// The summary of the run at the position.
    pub(super) summary: RunSummary,
    /// The position behind which its events are read.
    pub(super) from: Position,
}

/// What has begun.
pub(super) enum BegunRun {
    /// The run goes on, and is followed.
    Followed(Box<FollowedRun>),
    /// There is nothing to run; the exit code.
    Finished(u8),
}

/// Submits the run, or resumes it, as the run of this process.
pub(super) async fn begin_run(
    order: &LocalRunOptions,
    stores: &Stores,
    handle: &NodeHandle,
    owner: RunOwner,
) -> Result<BegunRun, CliError> {
    let LocalRunKind::New { plan, replaces, .. } = &order.kind else {
        return resume(order, stores, handle, owner).await;
    };
    if replaces.is_none() {
        note_interrupted(order, (stores, handle), plan.pipeline()).await?;
    }
    let followed = submit(order, handle, owner).await?;
    if let Some(run) = replaces {
        end_replaced(stores, handle, *run).await?;
    }
    Ok(BegunRun::Followed(Box::new(followed)))
}

/// Sends a request until a leader answers it. Repeating it is safe.
pub(super) async fn until_answered<T, F: Future<Output = Result<T, NotLeader>>>(
    request: impl Fn() -> F,
) -> T {
    loop {
        if let Ok(answer) = request().await {
            return answer;
        }
        sleep(REPEAT_AFTER).await;
    }
}

async fn submit(
    order: &LocalRunOptions,
    handle: &NodeHandle,
    owner: RunOwner,
) -> Result<FollowedRun, CliError> {
    let LocalRunKind::New { plan, options, reused, .. } = &order.kind else {
        unreachable!("only a new run is submitted")
    };
    let before = order.compiled.hooks.before_run(plan.pipeline()).await;
    before.map_err(|error| {
        CliError::usage(format!("the run was not started: {}", error.to_failure()))
    })?;
    let options = RunOptions { owner: Some(owner), parent: parent_step(handle), ..*options };
    let submit = SubmitRun {
        run: new_run_id(system_now()),
        plan: Arc::clone(plan),
        options,
        reused: reused.clone(),
    };
    let submitted = until_answered(|| SubmittedRun::submit(handle, submit.clone())).await;
    let (SubmittedRun { summary, from }, warnings) =
        submitted.map_err(|denial| CliError::unreachable(denial.to_string()))?;
    tell_warnings(order, &warnings);
    Ok(FollowedRun { summary, from })
}

/// The step inside which this process was started, if its run is in the same store.
fn parent_step(handle: &NodeHandle) -> Option<ParentStep> {
    let (run, step) = environment::enclosing_step()?;
    handle.views().with(|view| {
        let step = view.engine.run(run)?.plan.find(&step)?;
        Some(ParentStep { run, step })
    })
}

/// Cancels the interrupted run in whose place another one runs. If it has ended meanwhile, nothing is left to do.
async fn end_replaced(stores: &Stores, handle: &NodeHandle, run: RunId) -> Result<(), CliError> {
    until_at_rest(handle, run).await;
    if let Some(interrupted) = InterruptedRun::read(stores, run).await? {
        drop(until_answered(|| interrupted.cancel(handle)).await);
    }
    Ok(())
}

/// Prints warnings about steps that no worker can run yet. In a single process such a step is reported when it is
/// skipped.
fn tell_warnings(order: &LocalRunOptions, warnings: &[SubmitWarning]) {
    let reported = |it: &&SubmitWarning| {
        order.leading.is_some() || !matches!(it, SubmitWarning::NoWorkerYet { .. })
    };
    for warning in warnings.iter().filter(reported) {
        let label = order.caps.paint(ColorRole::Warn, "warning:");
        output::print_message(&format!("{label} {warning}"));
    }
}
