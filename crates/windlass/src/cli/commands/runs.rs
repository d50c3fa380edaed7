//! `windlass runs`

use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;
use windlass_store::archive::RunQuery;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::{ColumnAlign, TextTable, span_text};
use crate::cli::run_source::{BlockingRunSource, OriginArgs, RunListEntry, moment_of};
use crate::embedded::system_now;

/// List runs: interrupted ones first, then newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass runs
  windlass runs --status failed
  windlass runs --json | jq -r .id")]
pub(crate) struct RunsArgs {
    /// List only runs of this pipeline
    #[arg(long, value_name = "NAME")]
    pipeline: Option<String>,
    /// List only runs with this status
    #[arg(long, value_name = "STATUS", value_enum)]
    status: Option<RunStatusFilter>,
    /// List at most this many runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RunStatusFilter {
    Running,
    Cancelling,
    /// Unfinished, and no process works on it
    Interrupted,
    Succeeded,
    Failed,
    Cancelled,
}

impl RunStatusFilter {
    const fn status(self) -> RunStatus {
        match self {
            Self::Interrupted => RunStatus::Interrupted,
            Self::Running => RunStatus::Running,
            Self::Cancelling => RunStatus::Cancelling,
            Self::Succeeded => RunStatus::Succeeded,
            Self::Failed => RunStatus::Failed,
            Self::Cancelled => RunStatus::Cancelled,
        }
    }
}

/// Lists runs.
pub(crate) fn run(args: &RunsArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let query = RunQuery {
        pipeline: args.pipeline.clone(),
        status: args.status.map(RunStatusFilter::status),
        most: args.limit,
        ..RunQuery::default()
    };
    let listed = reading.wait(reading.source.runs(query, args.json))?;
    if listed.is_empty() {
        if !args.json {
            output::print_message("no matching runs");
        }
        return Ok(0);
    }
    if args.json {
        let runs: Vec<serde_json::Value> = listed.into_iter().map(|run| run.json).collect();
        return Ok(output::print_json_lines(&runs));
    }
    Ok(output::print_data(&table(&listed, system_now()).lines(&context.out).join("\n")))
}

fn table(listed: &[RunListEntry], now: Time) -> TextTable {
    let head = [
        ("run", ColumnAlign::Left),
        ("pipeline", ColumnAlign::Left),
        ("status", ColumnAlign::Left),
        ("steps", ColumnAlign::Right),
        ("began", ColumnAlign::Left),
        ("took", ColumnAlign::Right),
    ];
    let mut table = TextTable::new(head).cuts("pipeline").leaves_out(&["steps", "took", "began"]);
    for run in listed {
        let text = |key: &str| run.json[key].as_str().unwrap_or_default();
        let began = moment_of(&run.json["created_at"]).unwrap_or(now);
        // A run that no process works on is interrupted, even if the journal says that it runs.
        let status = if run.interrupted { "interrupted" } else { text("status") };
        table.row([
            text("id").to_owned(),
            text("pipeline").to_owned(),
            status.to_owned(),
            run.json["steps"].to_string(),
            format!("{} ago", span_text(now.since(began))),
            span_text(run.took),
        ]);
    }
    table
}
