//! `windlass cancel`

use windlass_core::engine::CancelLevel;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::reading::{Reading, StoreArgs};
use crate::local::{SocketError, cancel};

/// End a run that another terminal shows
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass cancel latest
  windlass cancel latest --kill      at once, without letting steps clean up")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Kill what runs, and run nothing more
    #[arg(long)]
    kill: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Asks whoever leads the run to end it.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let reading = Reading::open(&args.store, context)?;
    let run = reading.find(&args.run)?;
    let level = if args.kill { CancelLevel::Kill } else { CancelLevel::Stop };
    let asked = reading.runtime.block_on(cancel(&reading.folder, run, level));
    asked.map_err(|error| match error {
        SocketError::Refused(why) => CliError::usage(why),
        SocketError::NobodyLeads => CliError::unreachable("nothing runs here now")
            .hint("a run that was interrupted is cancelled by the next `windlass run`"),
        SocketError::NoAnswer(_) => CliError::unreachable(error.to_string()),
    })?;
    output::talk(&format!("run {run} was told to end"));
    Ok(0)
}
