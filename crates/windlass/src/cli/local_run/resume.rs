//! Resumes an interrupted run.

use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::summary::RunSummary;
use windlass_store::journal::Position;

use super::missing_secrets::refuse_missing_of_rest;
use super::options::{LocalRunKind, LocalRunOptions};
use crate::cli::error::CliError;
use crate::cli::output::ColorRole;
use crate::cli::{exit, output, run_watch};
use crate::embedded::{StoreReader, Stores};

/// A run that is followed.
#[derive(Debug)]
pub(super) struct FollowedRun {
    /// The summary of the run at the position.
    pub(super) summary: RunSummary,
    /// The position behind which its events are read.
    pub(super) from: Position,
}

/// The result of a resume request.
pub(super) enum ResumeOutcome {
    /// Resume was not requested.
    NotRequested,
    Continues(RunId),
    /// The run has already ended.
    Finished(u8),
}

/// Finds the run to resume.
pub(super) async fn resume(
    order: &LocalRunOptions,
    stores: &Stores,
) -> Result<ResumeOutcome, CliError> {
    let LocalRunKind::Resume { run, plan } = &order.kind else {
        return Ok(ResumeOutcome::NotRequested);
    };
    let records = StoreReader::read(stores.clone()).await?;
    let named = match run {
        Some(text) => Some(records.find(text).await?),
        None => None,
    };
    let pipeline = plan.as_ref().map_or("", |plan| plan.pipeline());
    match unfinished(&records, named, pipeline) {
        Some(summary) => {
            refuse_missing_of_rest(order, &summary)?;
            tell_changes(order, &summary, plan.as_deref());
            Ok(ResumeOutcome::Continues(summary.run()))
        }
        None => {
            nothing_to_resume(order, &records, named, pipeline).await.map(ResumeOutcome::Finished)
        }
    }
}

/// Loads the state of a resumed run.
pub(super) async fn load_resumed_run(stores: &Stores, run: RunId) -> Result<FollowedRun, CliError> {
    let records = StoreReader::read(stores.clone()).await?;
    let summary = records.summary(run).await?;
    let summary = summary.ok_or_else(|| no_such_run(run))?;
    Ok(FollowedRun { summary, from: records.position })
}

fn unfinished(records: &StoreReader, run: Option<RunId>, pipeline: &str) -> Option<RunSummary> {
    let wanted = |summary: &&RunSummary| match run {
        Some(run) => summary.run() == run,
        None => summary.plan().pipeline() == pipeline,
    };
    let mut open = records.open().rev().filter(wanted);
    open.find(|summary| !summary.status().is_terminal()).cloned()
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
            order.look.paint(ColorRole::Warn, "note:")
        ));
    }
}

async fn nothing_to_resume(
    order: &LocalRunOptions,
    records: &StoreReader,
    run: Option<RunId>,
    pipeline: &str,
) -> Result<u8, CliError> {
    let latest = match run {
        Some(run) => Some(run),
        None => records.latest_of(pipeline).await?,
    };
    let Some(latest) = latest else {
        output::print_message(&format!(
            "no run of {pipeline} is unfinished, and there was none before"
        ));
        return Ok(exit::SUCCESS);
    };
    let Some(summary) = records.summary(latest).await? else {
        return Err(no_such_run(latest));
    };
    let status = summary.status();
    output::print_message(&match run {
        Some(run) => format!("run {run} cannot be resumed: it {status}"),
        None => format!("no run of {pipeline} is unfinished; the latest, {latest}, {status}"),
    });
    Ok(run_watch::exit_code(&summary, &order.named, false))
}

fn no_such_run(run: RunId) -> CliError {
    CliError::usage(format!("there is no run {run}")).hint("`windlass runs` lists the runs")
}
