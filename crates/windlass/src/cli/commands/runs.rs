//! `windlass runs`

use windlass_core::engine::Utc;
use windlass_core::outcome::RunStatus;
use windlass_core::summary::Summary;
use windlass_core::time::Time;

use crate::archive::{RunQuery, RunRecord};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Align, Table, span_text};
use crate::cli::reading::{Reading, StoreArgs};
use crate::local::system_now;

/// List runs, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass runs
  windlass runs --status failed
  windlass runs --json | jq -r .id")]
pub(crate) struct Args {
    /// Only runs of this pipeline
    #[arg(long, value_name = "NAME")]
    pipeline: Option<String>,
    /// Only runs that stand so
    #[arg(long, value_name = "STATUS", value_enum)]
    status: Option<Status>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Status {
    Running,
    Cancelling,
    Succeeded,
    Failed,
    Cancelled,
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Cancelling => Self::Cancelling,
            Status::Succeeded => Self::Succeeded,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

/// Lists runs that are not sealed, then sealed ones.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let reading = Reading::open(&args.store, context)?;
    let open = open_runs(args, &reading);
    let more = args.limit.saturating_sub(open.len());
    let sealed = if more == 0 { Vec::new() } else { sealed_runs(args, &reading, more)? };
    let now = system_now();
    if args.json {
        return as_json(&reading, &open, &sealed, now);
    }
    if open.is_empty() && sealed.is_empty() {
        output::talk("no such runs");
        return Ok(0);
    }
    let table = table(&open, &sealed, reading.led, now);
    Ok(output::data(&table.lines(&context.out).join("\n")))
}

fn table(open: &[&Summary], sealed: &[RunRecord], led: bool, now: Time) -> Table {
    let head = [
        ("run", Align::Left),
        ("pipeline", Align::Left),
        ("status", Align::Left),
        ("steps", Align::Right),
        ("began", Align::Left),
        ("took", Align::Right),
    ];
    let mut table = Table::new(head).cuts("pipeline").leaves_out(&["steps", "took", "began"]);
    for summary in open {
        // Nothing has happened to one that was interrupted since.
        let took = summary.wall(if led { now } else { summary.heard_at() });
        table.row([
            summary.run().to_string(),
            summary.plan().pipeline().to_owned(),
            status_word(summary.status(), led),
            summary.tally().total().to_string(),
            ago(now, summary.submitted_at()),
            span_text(took),
        ]);
    }
    for record in sealed {
        table.row([
            record.run.to_string(),
            record.pipeline.clone(),
            record.status.to_string(),
            record.steps.to_string(),
            ago(now, record.submitted_at),
            span_text(record.ended_at.since(record.submitted_at)),
        ]);
    }
    table
}

fn as_json(
    reading: &Reading,
    open: &[&Summary],
    sealed: &[RunRecord],
    now: Time,
) -> Result<u8, CliError> {
    let mut lines: Vec<String> =
        open.iter().map(|summary| reading.to_json(summary, now).to_string()).collect();
    for record in sealed {
        lines.push(sealed_json(reading, record, now)?.to_string());
    }
    Ok(if lines.is_empty() { 0 } else { output::data(&lines.join("\n")) })
}

/// A run that is not over and that nobody works on does not run, whatever the journal says.
fn status_word(status: RunStatus, led: bool) -> String {
    if led || status.is_terminal() { status.to_string() } else { "interrupted".to_owned() }
}

fn open_runs<'a>(args: &Args, reading: &'a Reading) -> Vec<&'a Summary> {
    let wanted = |summary: &&Summary| {
        let pipeline = args.pipeline.as_deref();
        pipeline.is_none_or(|pipeline| summary.plan().pipeline() == pipeline)
            && args.status.is_none_or(|status| summary.status() == status.into())
    };
    reading.records.open().rev().filter(wanted).take(args.limit).collect()
}

fn sealed_runs(args: &Args, reading: &Reading, most: usize) -> Result<Vec<RunRecord>, CliError> {
    let status = args.status.map(RunStatus::from);
    if status.is_some_and(|status| !status.is_terminal()) {
        return Ok(Vec::new());
    }
    let query = RunQuery { pipeline: args.pipeline.clone(), status, most, ..RunQuery::default() };
    Ok(reading.runtime.block_on(reading.records.sealed_runs(query))?)
}

/// The whole of it is in its events.
fn sealed_json(
    reading: &Reading,
    record: &RunRecord,
    now: Time,
) -> Result<serde_json::Value, CliError> {
    let summary = reading.runtime.block_on(reading.records.summary(record.run))?;
    Ok(summary.map_or_else(|| record_json(record), |summary| reading.to_json(&summary, now)))
}

fn record_json(record: &RunRecord) -> serde_json::Value {
    serde_json::json!({
        "id": record.run.to_string(),
        "pipeline": record.pipeline,
        "status": record.status.to_string(),
        "created_at": Utc(record.submitted_at).to_string(),
        "ended_at": Utc(record.ended_at).to_string(),
        "steps": record.steps,
    })
}

fn ago(now: Time, at: Time) -> String {
    format!("{} ago", span_text(now.since(at)))
}
