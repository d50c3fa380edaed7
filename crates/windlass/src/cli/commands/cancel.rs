//! `windlass cancel`

use windlass_core::engine::CancelLevel;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::{BlockingRunSource, OriginArgs};

/// End a run, here or at a controller
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass cancel latest
  windlass cancel latest --kill      at once, without letting steps clean up")]
pub(crate) struct CancelArgs {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Kill what runs, and run nothing more
    #[arg(long)]
    kill: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Asks whoever leads the run to end it.
pub(crate) fn run(args: &CancelArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let run = reading.find(&args.run)?;
    let level = if args.kill { CancelLevel::Kill } else { CancelLevel::Stop };
    reading.wait(reading.source.cancel(run, level))?;
    output::print_message(&format!("run {run} was told to end"));
    Ok(0)
}
