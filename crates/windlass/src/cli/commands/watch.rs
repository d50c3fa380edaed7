//! `windlass watch`

use std::sync::Arc;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::run_source::{BlockingRunSource, OriginArgs};
use crate::cli::run_watch::{RemoteWatch, WatchOutput};

/// Follow a run of another process until it ends
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows the same output as the process that started the run, and exits with the run's exit code.
Ctrl-C stops watching and does not affect the run.

Examples:
  windlass watch latest
  windlass watch 1m2n3 --to http://build.example:7700")]
pub(crate) struct WatchArgs {
    /// Watch this run
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print the run as JSON whenever a step has ended, one object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Watches the run until it has ended.
pub(crate) fn run(args: &WatchArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let known = reading.load_run(&args.run)?;
    let source = Arc::clone(&reading.source);
    let prints = if args.json { WatchOutput::Run } else { WatchOutput::Output };
    let attached =
        RemoteWatch { source, known, caps: context.err, output: prints, named: Vec::new() };
    reading.runtime.block_on(attached.watch())
}
