//! `windlass show`

use std::path::Path;

use windlass_core::summary::Step;
use windlass_core::time::Time;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Ink, ending, plain};
use crate::cli::project::SCRATCH;
use crate::cli::reading::{Reading, StoreArgs};
use crate::cli::written::written;
use crate::local::system_now;
use crate::logs::LogId;
use crate::worker::executors;

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
    let left = !reading.led && !summary.status().is_terminal();
    // Nothing has happened to one that was interrupted since.
    let now = if left { summary.heard_at() } else { system_now() };
    let scratch = reading.folder.join(SCRATCH);
    if args.json {
        let mut run = reading.to_json(&summary, now);
        run["steps"] = summary.steps().map(|step| step_json(step, &scratch, now)).collect();
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
    for (step, written) in written(&scratch, &summary) {
        let (name, lines) = (context.out.paint(Ink::Strong, &step), plain(&written).join("\n"));
        text = format!("{text}\n\n{name}\n{lines}");
    }
    for line in ending(&context.out, &summary, now, &mut logs, &reading.hints) {
        text.push('\n');
        text.push_str(&line);
    }
    let code = output::data(&text);
    if left {
        let resume = reading.hints.resume(summary.run()).unwrap_or_default();
        let note = context.err.paint(Ink::Warn, "note:");
        output::talk(&format!("{note} nobody works on it now; `{resume}` goes on with it"));
    }
    Ok(code)
}

/// A step, with what it wrote for people.
fn step_json(step: Step<'_>, scratch: &Path, now: Time) -> serde_json::Value {
    let written = step.last_try().and_then(|last| executors::summary(scratch, last.fence));
    let mut object = step.to_json(now);
    if let Some(text) = written {
        object["summary"] = text.into();
    }
    object
}
