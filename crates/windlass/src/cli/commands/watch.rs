//! `windlass watch`

use std::time::Duration;

use windlass_core::summary::{Asked, Verdict};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::output::{self, moment};
use crate::cli::reading::{Reading, StoreArgs, interrupted};
use crate::local::{Records, system_now};

/// How often a run is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Wait for the end of a run that another terminal does
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It says what runs whenever that changes, and ends with the run's exit code. Ctrl-C leaves the run alone.

Examples:
  windlass watch latest")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print the run as a JSON object, one a line, whenever that changes
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Looks again and again.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let reading = Reading::open(&args.store, context)?;
    let run = reading.find(&args.run)?;
    let mut shown = 0;
    loop {
        let led = reading.is_led();
        let records = reading.runtime.block_on(Records::read(reading.stores.clone()))?;
        let summary = reading.runtime.block_on(records.summary(run))?;
        let Some(summary) = summary else {
            return Err(CliError::usage(format!("there is no run {run} any more")));
        };
        let ended = summary.tally().ended() + 1;
        if ended != shown || summary.status().is_terminal() {
            shown = ended;
            output::data(&if args.json {
                summary.to_json(system_now()).to_string()
            } else {
                moment(&context.out, &summary, system_now(), &[]).join("\n")
            });
        }
        if summary.status().is_terminal() {
            return Ok(match summary.verdict(Asked::default()) {
                Verdict::Ok => exit::SUCCESS,
                Verdict::StepFailed => exit::STEP_FAILED,
                Verdict::Unmet => exit::UNMET_REQUIREMENT,
                Verdict::Cancelled => exit::CANCELLED,
                Verdict::Interrupted => exit::INTERRUPTED,
            });
        }
        if !led {
            return Err(interrupted(run, &reading.hints));
        }
        reading.pause(LOOK_EVERY);
    }
}
