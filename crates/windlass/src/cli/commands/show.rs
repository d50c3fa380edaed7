//! `windlass show`

use serde_json::json;
use windlass_core::summary::StepSummary;
use windlass_core::test_report::TestReport;
use windlass_core::time::Time;
use windlass_store::logs::LogId;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::{ColorRole, EndedRun, ending, sanitize_lines};
use crate::cli::run_source::{BlockingRunSource, OriginArgs, tail};
use crate::cli::step_tests::{StepTestReports, writes_reports};

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
    let tests = if writes_reports(summary.plan()) {
        reading.wait(source.test_reports(summary.run()))?
    } else {
        StepTestReports::default()
    };
    if args.json {
        let mut run = known.to_json();
        let written = |step| (notes.of(summary.run(), step), tests.of(summary.run(), step));
        let step = |step| step_json(step, written(step), now);
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
    let tests = tests.by_step_name(summary);
    let (caps, hints) = (&context.out, source.hints());
    let ended = EndedRun { caps, summary, now, hints, tests: &tests };
    for line in ending(&ended, &mut logs) {
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

/// A step, with its summary and the results of its tests.
fn step_json(
    step: StepSummary<'_>,
    (notes, tests): (Option<&String>, Option<&TestReport>),
    now: Time,
) -> serde_json::Value {
    let mut object = step.to_json(now);
    if let Some(text) = notes {
        object["summary"] = text.as_str().into();
    }
    if let Some(report) = tests {
        object["tests"] = json!(report);
    }
    object
}
