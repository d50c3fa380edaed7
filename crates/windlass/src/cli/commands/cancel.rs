//! `windlass cancel`

use windlass_core::engine::CancelLevel;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::{BlockingRunSource, OriginArgs};

/// Cancel a run, here or on a controller
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass cancel latest
  windlass cancel latest --kill      immediately, without cleanup by its steps")]
pub(crate) struct CancelArgs {
    /// Cancel this run: its id, a prefix of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// Kill running steps immediately (default: let them clean up)
    #[arg(long)]
    kill: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Sends the cancel request to the leader of the run.
pub(crate) fn run(args: &CancelArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let run = reading.find(&args.run)?;
    let level = if args.kill { CancelLevel::Kill } else { CancelLevel::Stop };
    reading.wait(reading.source.cancel(run, level))?;
    output::print_message(&format!("run {run} is being cancelled"));
    Ok(0)
}
