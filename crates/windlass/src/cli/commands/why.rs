//! `windlass why`

use windlass_core::report::WhyReport;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::why_phrase;
use crate::cli::run_source::{BlockingRunSource, OriginArgs};
use crate::cli::{output, run_source};
use crate::embedded::system_now;

/// Explain why a step is waiting, skipped or failed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass why latest deploy")]
pub(crate) struct WhyArgs {
    /// Explain a step of this run
    #[arg(value_name = "RUN")]
    run: String,
    /// Explain this step
    #[arg(value_name = "STEP")]
    step: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Asks the engine of an unfinished run, or reads the history of a finished one.
pub(crate) fn run(args: &WhyArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let summary = reading.load_run(&args.run)?.summary;
    let ix = run_source::step(&summary, &args.step)?;
    let now = system_now();
    let step = summary.step(ix);
    let status = step.map(|step| step.status());
    let open = status.is_some_and(|status| !status.is_terminal());
    let why = if open { reading.wait(reading.source.why(summary.run(), ix))? } else { None };
    let reason = match (&why, &step) {
        (Some(why), _) => Some(why_phrase(why, &summary, now)),
        (None, Some(step)) => step.reason(),
        (None, None) => None,
    };
    let is_held = matches!(why, Some(WhyReport::Held { .. } | WhyReport::Settling));
    let status = status.map_or("a matrix".to_owned(), |status| status.to_string());
    if args.json {
        let why = serde_json::json!({
            "run": summary.run().to_string(), "step": args.step, "status": status, "reason": reason,
        });
        return Ok(output::print_data(&why.to_string()));
    }
    let text = match reason {
        Some(reason) if is_held => format!("{} is {reason}", args.step),
        Some(reason) if open => format!("{} is {status}: it waits {reason}", args.step),
        Some(reason) => format!("{} {status}: {reason}", args.step),
        None => format!("{} {status}", args.step),
    };
    Ok(output::print_data(&text))
}
