//! Finds an interrupted run and resumes it as the run of this process.

use windlass_controller::NodeHandle;
use windlass_core::engine::RunOwner;
use windlass_core::id::RunId;
use windlass_core::maintenance::{RESUMABLE_AGE, RESUMABLE_RUNS_MAX, resumable_runs};
use windlass_core::outcome::RunStatus;
use windlass_core::plan::Plan;
use windlass_core::summary::RunSummary;
use windlass_core::time::Span;
use windlass_store::archive::{PAGE_MAX, RunQuery};

use super::begin_run::{BegunRun, FollowedRun, until_answered};
use super::missing_secrets::refuse_missing_of_rest;
use super::options::{LocalRunKind, LocalRunOptions};
use crate::cli::error::CliError;
use crate::cli::output::ColorRole;
use crate::cli::{exit, output, run_watch};
use crate::embedded::{InterruptedRun, StoreReader, Stores, WorkerSlot, system_now, until_at_rest};

/// Tells how to resume the newest interrupted run of a pipeline, whose new run is about to start.
pub(super) async fn note_interrupted(
    order: &LocalRunOptions,
    (stores, handle): (&Stores, &NodeHandle),
    pipeline: &str,
) -> Result<(), CliError> {
    // A start that has nothing to tell does not read the journal a second time.
    let Some(run) = find_interrupted(stores, handle, pipeline).await? else { return Ok(()) };
    let Some(resume) = order.hints.resume(run) else { return Ok(()) };
    let records = StoreReader::read(stores.clone()).await?;
    let Some(summary) = records.summary(run).await? else { return Ok(()) };
    let tally = summary.status_counts();
    let so_far = format!("{} of {} steps had ended", tally.ended(), tally.total());
    let what = format!("run {run} of this pipeline was interrupted: {so_far}");
    let label = order.caps.paint(ColorRole::Quiet, "note:");
    output::print_message(&format!("{label} {what}; `{resume}` continues it"));
    Ok(())
}

/// The newest interrupted run of a pipeline, in the view of the node or in the archive.
async fn find_interrupted(
    stores: &Stores,
    handle: &NodeHandle,
    pipeline: &str,
) -> Result<Option<RunId>, CliError> {
    let query = RunQuery {
        most: 1,
        pipeline: Some(pipeline.to_owned()),
        status: Some(RunStatus::Interrupted),
        ..RunQuery::default()
    };
    let sealed = stores.archive.runs(query).await?.first().map(|record| record.run);
    Ok(handle.views().with(|view| {
        let open = view.engine.runs().filter(|run| run.pipeline() == pipeline);
        let open = open.filter(|run| run.status == RunStatus::Interrupted).map(|run| run.id).max();
        // A run that was resumed is open again.
        open.or_else(|| sealed.filter(|run| view.engine.run_status(*run).is_none()))
    }))
}

/// Resumes the run, unless it has ended or belongs to a process that lives.
pub(super) async fn resume(
    order: &LocalRunOptions,
    stores: &Stores,
    handle: &NodeHandle,
    owner: RunOwner,
) -> Result<BegunRun, CliError> {
    let LocalRunKind::Resume { run, pipeline, plan } = &order.kind else {
        unreachable!("a new run is submitted")
    };
    let records = StoreReader::read(stores.clone()).await?;
    let wanted = match run {
        Some(text) => Some(records.find(text).await?),
        None => match dying_run(order, handle, pipeline.as_deref()) {
            Some(dying) => Some(dying),
            None => newest_interrupted(&records, pipeline.as_deref()).await?.map(|it| it.run()),
        },
    };
    let Some(run) = wanted else {
        return nothing_to_resume(order, &records, pipeline.as_deref()).await;
    };
    until_at_rest(handle, run).await;
    let found = InterruptedRun::read(stores, run).await?;
    let Some(interrupted) = found else { return not_interrupted(order, stores, run).await };
    refuse_expired(stores, run).await?;
    refuse_missing_of_rest(order, &interrupted.summary)?;
    tell_changes(order, &interrupted.summary, plan.as_deref());
    let resumed = until_answered(|| interrupted.resume(handle, owner)).await;
    resumed.map_err(|denial| CliError::usage(denial.to_string()))?;
    let records = StoreReader::read(stores.clone()).await?;
    let summary = records.summary(run).await?.ok_or_else(|| no_such_run(run))?;
    Ok(BegunRun::Followed(Box::new(FollowedRun { summary, from: records.position })))
}

/// Refuses to resume a run that was interrupted too long ago, or before too many others.
async fn refuse_expired(stores: &Stores, run: RunId) -> Result<(), CliError> {
    let records = StoreReader::read(stores.clone()).await?;
    let status = Some(RunStatus::Interrupted);
    let query = RunQuery { most: PAGE_MAX, status, ..RunQuery::default() };
    let sealed = records.sealed_runs(query).await?;
    let sealed = sealed.iter().map(|record| (record.ended_at, record.run));
    let open = records.open().filter(|summary| summary.status() == RunStatus::Interrupted);
    let open = open.map(|summary| (summary.last_event_at(), summary.run()));
    if resumable_runs(open.chain(sealed), system_now()).contains(&run) {
        return Ok(());
    }
    let days = RESUMABLE_AGE.as_millis() / Span::hours(24).as_millis();
    let what = format!(
        "run {run} cannot be resumed any more: only the newest {RESUMABLE_RUNS_MAX} interrupted runs can, for {days} days"
    );
    let hint = format!("`windlass rerun {run} --failed` runs its remaining steps as a new run");
    Err(CliError::usage(what).hint(hint))
}

/// The newest run whose process has ended, while its guard still ends the steps: it is interrupted in a moment.
fn dying_run(
    order: &LocalRunOptions,
    handle: &NodeHandle,
    pipeline: Option<&str>,
) -> Option<RunId> {
    let folder = order.store.as_deref()?;
    handle.views().with(|view| {
        let open = view.engine.runs().filter(|run| !run.status.is_at_rest());
        let wanted = open.filter(|run| pipeline.is_none_or(|it| it == run.pipeline()));
        let dying = wanted.filter(|run| {
            let owner = run.owner.map(|owner| owner.worker);
            owner.is_some_and(|worker| WorkerSlot::has_lost_its_process(folder, worker))
        });
        dying.map(|run| run.id).max()
    })
}

/// The newest interrupted run that can be resumed, of one pipeline or of any.
async fn newest_interrupted(
    records: &StoreReader,
    pipeline: Option<&str>,
) -> Result<Option<RunSummary>, CliError> {
    let is_wanted = |summary: &&RunSummary| {
        summary.status() == RunStatus::Interrupted
            && pipeline.is_none_or(|pipeline| summary.plan().pipeline() == pipeline)
    };
    if let Some(open) = records.open().rev().find(is_wanted) {
        return Ok(Some(open.clone()));
    }
    let (pipeline, status) = (pipeline.map(str::to_owned), Some(RunStatus::Interrupted));
    let query = RunQuery { most: 1, pipeline, status, ..RunQuery::default() };
    match records.sealed_runs(query).await?.first() {
        Some(record) => Ok(records.summary(record.run).await?),
        None => Ok(None),
    }
}

fn tell_changes(order: &LocalRunOptions, summary: &RunSummary, now: Option<&Plan>) {
    let tally = summary.status_counts();
    let so_far = format!(
        "run {} continues: {} of {} steps had ended",
        summary.run(),
        tally.ended(),
        tally.total()
    );
    output::print_message(&so_far);
    let began = summary.plan();
    let other = |now: &Plan| now.fingerprint() != began.fingerprint();
    if now.is_some_and(|now| now.pipeline() == began.pipeline() && other(now)) {
        let what = "the file has changed since, or other params or steps are selected";
        let so = "this run keeps its original plan";
        output::print_message(&format!(
            "{} {what}: {so}",
            order.caps.paint(ColorRole::Warn, "note:")
        ));
    }
}

/// Reports that no run was interrupted. The exit code is that of the latest run.
async fn nothing_to_resume(
    order: &LocalRunOptions,
    records: &StoreReader,
    pipeline: Option<&str>,
) -> Result<BegunRun, CliError> {
    let latest = match pipeline {
        Some(pipeline) => records.latest_of(pipeline).await?,
        None => records.latest().await?,
    };
    let of = pipeline.map(|pipeline| format!(" of {pipeline}")).unwrap_or_default();
    let Some(latest) = latest else {
        output::print_message(&format!("no run{of} was interrupted, and there was none before"));
        return Ok(BegunRun::Finished(exit::SUCCESS));
    };
    let summary = records.summary(latest).await?.ok_or_else(|| no_such_run(latest))?;
    let status = summary.status();
    output::print_message(&format!("no run{of} was interrupted; the latest, {latest}, {status}"));
    Ok(BegunRun::Finished(run_watch::exit_code(&summary, &order.named, false)))
}

/// Reports why a run that was named cannot be resumed.
async fn not_interrupted(
    order: &LocalRunOptions,
    stores: &Stores,
    run: RunId,
) -> Result<BegunRun, CliError> {
    let records = StoreReader::read(stores.clone()).await?;
    let summary = records.summary(run).await?.ok_or_else(|| no_such_run(run))?;
    let status = summary.status();
    if !status.is_terminal() {
        let what = format!("run {run} is not interrupted: its process works on it");
        return Err(CliError::usage(what).hint(format!("`windlass watch {run}` shows it")));
    }
    output::print_message(&format!("run {run} cannot be resumed: it {status}"));
    Ok(BegunRun::Finished(run_watch::exit_code(&summary, &order.named, false)))
}

fn no_such_run(run: RunId) -> CliError {
    CliError::usage(format!("there is no run {run}")).hint("`windlass runs` lists the runs")
}
