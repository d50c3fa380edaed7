//! `windlass logs`

use std::io::{self, Write as _};
use std::time::Duration;

use windlass_core::id::{RunId, StepIx};
use windlass_core::summary::Summary;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Ink};
use crate::cli::reading::{self, Reading, StoreArgs};
use crate::local::Records;
use crate::logs::{LogId, READ_MAX};

/// How often a log that grows is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Print what steps of a run printed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass logs latest test          the last attempt of `test`
  windlass logs latest test -f       and what it prints from now on
  windlass logs latest               every step, one after the other")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Which step; all if not said
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Go on until the step has ended
    #[arg(short, long, requires = "step")]
    follow: bool,
    /// Which attempt; the last if not said
    #[arg(long, value_name = "N")]
    attempt: Option<u16>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Prints logs as they are.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let reading = Reading::open(&args.store, context)?;
    let summary = reading.summary(&args.run)?;
    let logs = list(&reading, summary.run())?;
    let Some(name) = &args.step else { return all(&reading, &summary, &logs, context) };
    let step = reading::step(&summary, name)?;
    if summary.plan().is_join(step) {
        let hint = format!("name one of its cells, such as `{}`", first_cell(&summary, step));
        return Err(CliError::usage(format!("`{name}` is a matrix")).hint(hint));
    }
    let wanted = Wanted { run: summary.run(), step, attempt: args.attempt };
    if args.follow {
        return follow(&reading, wanted);
    }
    if let Some(log) = wanted.last_of(&logs) {
        print(&reading, log, 0)?;
    } else {
        output::talk(&format!("{name} printed nothing"));
    }
    Ok(0)
}

/// Which logs of a run are asked for.
#[derive(Clone, Copy)]
struct Wanted {
    run: RunId,
    step: StepIx,
    attempt: Option<u16>,
}

impl Wanted {
    fn has(self, log: LogId) -> bool {
        log.step == self.step && self.attempt.is_none_or(|attempt| log.attempt == attempt)
    }

    fn last_of(self, logs: &[LogId]) -> Option<LogId> {
        logs.iter().copied().rfind(|log| self.has(*log))
    }
}

fn all(
    reading: &Reading,
    summary: &Summary,
    logs: &[LogId],
    context: &Context,
) -> Result<u8, CliError> {
    for log in logs {
        let name = summary.plan().name(log.step);
        let again =
            if log.attempt > 1 { format!(", attempt {}", log.attempt) } else { String::new() };
        output::talk(&context.err.paint(Ink::Strong, &format!("── {name}{again}")));
        if print(reading, *log, 0)?.is_none() {
            break;
        }
    }
    Ok(0)
}

/// Prints a log from a place on, and returns where it ended; nothing if nobody reads any more.
fn print(reading: &Reading, log: LogId, mut from: u64) -> Result<Option<u64>, CliError> {
    let mut out = io::stdout().lock();
    loop {
        let most = READ_MAX as u64;
        let part = reading.runtime.block_on(reading.stores.logs.read(log, from..from + most))?;
        if part.bytes.is_empty() {
            return Ok(Some(from));
        }
        from += part.bytes.len() as u64;
        if out.write_all(&part.bytes).and_then(|()| out.flush()).is_err() {
            // Who closed the pipe has seen enough.
            return Ok(None);
        }
    }
}

/// Prints the last attempt, then each that follows it, until the step has ended.
fn follow(reading: &Reading, wanted: Wanted) -> Result<u8, CliError> {
    let mut shown: Option<(LogId, u64)> = None;
    loop {
        let led = reading.is_led();
        let over = is_over(reading, wanted)?;
        let logs = list(reading, wanted.run)?;
        shown = shown.or_else(|| wanted.last_of(&logs).map(|log| (log, 0)));
        for log in logs.into_iter().filter(|log| wanted.has(*log)) {
            let from = match shown {
                Some((last, from)) if log == last => from,
                Some((last, _)) if log > last => 0,
                Some(_) | None => continue,
            };
            let Some(end) = print(reading, log, from)? else { return Ok(0) };
            shown = Some((log, end));
        }
        if over {
            return Ok(0);
        }
        if !led {
            return Err(reading::interrupted(wanted.run, &reading.hints));
        }
        reading.pause(LOOK_EVERY);
    }
}

/// The logs of a run, in order.
fn list(reading: &Reading, run: RunId) -> Result<Vec<LogId>, CliError> {
    let logs = reading.runtime.block_on(reading.stores.logs.list(run))?;
    Ok(logs.into_iter().map(|(log, _)| log).collect())
}

/// Whether the step has ended.
fn is_over(reading: &Reading, wanted: Wanted) -> Result<bool, CliError> {
    let records = reading.runtime.block_on(Records::read(reading.stores.clone()))?;
    let summary = reading.runtime.block_on(records.summary(wanted.run))?;
    let step = summary.as_ref().and_then(|summary| summary.step(wanted.step));
    Ok(step.is_none_or(|step| step.status().is_terminal()))
}

fn first_cell(summary: &Summary, join: StepIx) -> String {
    let cells = summary.plan().needs(join);
    cells.first().map(|edge| summary.plan().name(edge.step()).to_owned()).unwrap_or_default()
}
