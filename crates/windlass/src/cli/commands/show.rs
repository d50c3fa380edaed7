//! `windlass show`

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, ending};
use crate::cli::reading::{Reading, StoreArgs};
use crate::local::system_now;
use crate::logs::LogId;

/// Show what became of a run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A run is named by its id, the beginning of it, or `latest`.

Examples:
  windlass show latest
  windlass show latest --json | jq '.steps[] | select(.status == \"failed\")'")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Shows the same as the end of the run did, or all of it as JSON.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let reading = Reading::open(&args.store, context)?;
    let summary = reading.summary(&args.run)?;
    let now = system_now();
    if args.json {
        let mut run = summary.to_json(now);
        run["steps"] = summary.steps().map(|step| step.to_json(now)).collect();
        return Ok(output::data(&run.to_string()));
    }
    let mut logs = |log: LogId, bytes: usize| {
        let read = async {
            let size = reading.stores.logs.read(log, 0..0).await?.size;
            reading.stores.logs.read(log, size.saturating_sub(bytes as u64)..size).await
        };
        reading.runtime.block_on(read).map(|part| part.bytes).unwrap_or_default()
    };
    let mut text = format!("run {}  {}", summary.run(), summary.plan().pipeline());
    for line in ending(&context.out, &summary, now, &mut logs, &reading.hints) {
        text.push('\n');
        text.push_str(&line);
    }
    Ok(output::data(&text))
}
