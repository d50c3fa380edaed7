//! `windlass show`

use windlass_core::summary::StepSummary;
use windlass_core::time::Time;
use windlass_store::logs::LogId;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::{ColorRole, ending, sanitize_lines};
use crate::cli::run_source::{BlockingRunSource, OriginArgs, tail};

/// Show the result of a run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is the id of a run, a prefix of it, or `latest`.

Examples:
  windlass show latest
  windlass show latest --json | jq '.steps[] | select(.status == \"failed\")'")]
pub(crate) struct ShowArgs {
    /// Show this run
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Shows the same report as the end of the run, or all of it as JSON.
pub(crate) fn run(args: &ShowArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let known = reading.load_run(&args.run)?;
    let (summary, source, now) = (&known.summary, &*reading.source, known.now());
    let notes = reading.wait(source.step_summaries(summary.run()))?;
    if args.json {
        let mut run = known.to_json();
        let step = |step| step_json(step, notes.of(summary.run(), step), now);
        run["steps"] = summary.steps().map(step).collect();
        return Ok(output::print_data(&run.to_string()));
    }
    let mut logs = |log: LogId, bytes: usize| reading.runtime.block_on(tail(source, log, bytes));
    let mut text = format!("run {}  {}", summary.run(), summary.plan().pipeline());
    for (step, written) in notes.by_step_name(summary) {
        let (name, lines) =
            (context.out.paint(ColorRole::Strong, &step), sanitize_lines(&written).join("\n"));
        text = format!("{text}\n\n{name}\n{lines}");
    }
    for line in ending(&context.out, summary, now, &mut logs, source.hints()) {
        text.push('\n');
        text.push_str(&line);
    }
    let code = output::print_data(&text);
    if known.interrupted {
        let resume = source.hints().resume(summary.run()).unwrap_or_default();
        let note = context.err.paint(ColorRole::Warn, "note:");
        output::print_message(&format!(
            "{note} no process works on this run; `{resume}` continues it"
        ));
    }
    Ok(code)
}

/// A step, with its summary.
fn step_json(step: StepSummary<'_>, written: Option<&String>, now: Time) -> serde_json::Value {
    let mut object = step.to_json(now);
    if let Some(text) = written {
        object["summary"] = text.as_str().into();
    }
    object
}
