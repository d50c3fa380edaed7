//! `windlass logs`

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::id::{RunId, StepIx};
use windlass_core::summary::Summary;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Colour, Ink, Lines, Look};
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
  windlass logs latest               every step, one after the other
  windlass logs latest -f            and what they print until the run has ended")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Which step; all if not said
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Go on until the step, or the run, has ended
    #[arg(short, long)]
    follow: bool,
    /// Which attempt; of one step the last if not said, of all steps every one
    #[arg(long, value_name = "N")]
    attempt: Option<u16>,
    /// Print each line as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Prints logs as they are.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let reading = Reading::open(&args.store, context)?;
    let summary = reading.summary(&args.run)?;
    let step = args.step.as_ref().map(|name| step(&summary, name)).transpose()?;
    let wanted = Wanted { run: summary.run(), step, attempt: args.attempt };
    let mut printer = Printer {
        reading: &reading,
        summary: &summary,
        look: &context.err,
        json: args.json,
        ends: BTreeMap::new(),
        last: None,
    };
    if args.follow {
        return follow(&mut printer, wanted);
    }
    let logs = wanted.of(list(&reading, summary.run())?, None);
    if let (true, Some(name)) = (logs.is_empty(), &args.step) {
        output::talk(&format!("{name} printed nothing"));
    }
    printer.print_all(&logs)?;
    printer.close();
    Ok(0)
}

fn step(summary: &Summary, name: &str) -> Result<StepIx, CliError> {
    let step = reading::step(summary, name)?;
    if !summary.plan().is_join(step) {
        return Ok(step);
    }
    let cells = summary.plan().needs(step);
    let cell = cells.first().map(|edge| summary.plan().name(edge.step())).unwrap_or_default();
    let hint = format!("name one of its cells, such as `{cell}`");
    Err(CliError::usage(format!("`{name}` is a matrix")).hint(hint))
}

/// Which logs of a run are asked for.
#[derive(Clone, Copy)]
struct Wanted {
    run: RunId,
    step: Option<StepIx>,
    attempt: Option<u16>,
}

impl Wanted {
    /// Those among these, in order: of one step the last, and what is newer than one that was shown.
    fn of(self, logs: Vec<LogId>, shown: Option<LogId>) -> Vec<LogId> {
        let has = |log: &LogId| {
            self.step.is_none_or(|step| log.step == step)
                && self.attempt.is_none_or(|attempt| log.attempt == attempt)
        };
        let logs: Vec<LogId> = logs.into_iter().filter(has).collect();
        let first = shown.or(logs.last().copied()).filter(|_| self.step.is_some());
        logs.into_iter().filter(|log| first.is_none_or(|first| *log >= first)).collect()
    }
}

/// Prints logs, each from where it ended before.
struct Printer<'a> {
    reading: &'a Reading,
    summary: &'a Summary,
    look: &'a Look,
    json: bool,
    /// How far each is printed, and the line that has begun.
    ends: BTreeMap<LogId, (u64, Lines)>,
    last: Option<LogId>,
}

/// Whether anybody still reads.
type Read = Result<bool, CliError>;

impl Printer<'_> {
    fn print_all(&mut self, logs: &[LogId]) -> Read {
        for log in logs {
            if !self.print(*log, logs.len() > 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Prints what is new in a log. Where there are several, a line says whose it is.
    fn print(&mut self, log: LogId, several: bool) -> Read {
        loop {
            let from = self.ends.get(&log).map_or(0, |(from, _)| *from);
            let logs = &self.reading.stores.logs;
            let part = logs.read(log, from..from + READ_MAX as u64);
            let bytes = self.reading.runtime.block_on(part)?.bytes;
            if bytes.is_empty() {
                return Ok(true);
            }
            if several && !self.json && self.last != Some(log) {
                output::talk(&self.look.paint(Ink::Strong, &self.title(log)));
            }
            self.last = Some(log);
            if !self.put(log, from, &bytes) {
                return Ok(false);
            }
        }
    }

    fn title(&self, log: LogId) -> String {
        let name = self.summary.plan().name(log.step);
        match log.attempt {
            1 => format!("── {name}"),
            attempt => format!("── {name}, attempt {attempt}"),
        }
    }

    fn put(&mut self, log: LogId, from: u64, bytes: &[u8]) -> bool {
        let (end, lines) = self.ends.entry(log).or_insert_with(|| (0, Lines::new(Colour::Off)));
        *end = from + bytes.len() as u64;
        if !self.json {
            return output::bytes(bytes);
        }
        let mut text = Vec::new();
        lines.push(bytes, |line| text.push(line));
        text.into_iter().all(|line| self.put_line(log, &line))
    }

    fn put_line(&self, log: LogId, line: &str) -> bool {
        let object = serde_json::json!({
            "run": log.run.to_string(), "step": log.step.0,
            "name": self.summary.plan().name(log.step),
            "attempt": log.attempt, "delivery": log.delivery, "line": line,
        });
        output::bytes(format!("{object}\n").as_bytes())
    }

    /// Prints the lines that have begun: nothing more comes.
    fn close(&mut self) {
        for (log, (_, mut lines)) in std::mem::take(&mut self.ends) {
            if let Some(line) = lines.flush().filter(|_| self.json) {
                self.put_line(log, &line);
            }
        }
    }
}

/// Prints what is there, then what comes, until the step or the run has ended.
fn follow(printer: &mut Printer<'_>, wanted: Wanted) -> Result<u8, CliError> {
    let reading = printer.reading;
    let mut first = None;
    loop {
        let led = reading.is_led();
        let over = is_over(reading, wanted)?;
        let logs = wanted.of(list(reading, wanted.run)?, first);
        first = first.or(logs.first().copied());
        if !printer.print_all(&logs)? {
            return Ok(0);
        }
        if over {
            printer.close();
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

/// Whether nothing more is to come.
fn is_over(reading: &Reading, wanted: Wanted) -> Result<bool, CliError> {
    let records = reading.runtime.block_on(Records::read(reading.stores.clone()))?;
    let summary = reading.runtime.block_on(records.summary(wanted.run))?;
    Ok(summary.is_none_or(|summary| match wanted.step {
        Some(step) => summary.step(step).is_none_or(|step| step.status().is_terminal()),
        None => summary.status().is_terminal(),
    }))
}
