//! `windlass logs`

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::id::{RunId, StepIx};
use windlass_core::summary::RunSummary;
use windlass_store::logs::LogId;

use super::logs_grep::{GrepQuery, grep};
use super::logs_printer::{LogPrintFormat, LogPrinter};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::run_source::{
    BlockingRunSource, KnownRun, OriginArgs, RunSource, retry_while_away,
};
use crate::cli::{output, run_source};

/// How often to check whether any of several logs has grown.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long one request waits for more of a log.
const WAIT: Duration = Duration::from_secs(30);

/// Print the output of a run's steps
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass logs latest test          the last attempt of `test`
  windlass logs latest test -f       and its new output until it ends
  windlass logs latest               every step, one after the other
  windlass logs latest -f            and new output until the run has ended
  windlass logs latest --grep error  matching lines of all steps")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct LogsArgs {
    /// Print the output of this run
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print only this step (default: all steps)
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Print new output until the step or the run has ended
    #[arg(short, long)]
    follow: bool,
    /// Print this attempt (default: the last one of a named step, or all attempts of all steps)
    #[arg(long, value_name = "N")]
    attempt: Option<u16>,
    /// Print only lines that contain this text, each with its step and line number
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["follow", "attempt"])]
    grep: Option<String>,
    /// Print each line as a JSON object
    #[arg(long)]
    json: bool,
    /// Print every byte unchanged, including terminal control sequences
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Prints logs.
pub(crate) fn run(args: &LogsArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let known = reading.load_run(&args.run)?;
    let step = args.step.as_ref().map(|name| step(&known.summary, name)).transpose()?;
    let run = known.summary.run();
    if let Some(text) = &args.grep {
        return grep(
            &reading,
            known.summary.plan(),
            GrepQuery { run, step, text, json: args.json },
        );
    }
    let wanted = LogSelection { run, step, attempt: args.attempt };
    let mut printer = LogPrinter {
        reading: &reading,
        plan: Arc::clone(known.summary.plan()),
        caps: &context.err,
        form: match args {
            LogsArgs { json: true, .. } => LogPrintFormat::Json,
            LogsArgs { raw: false, .. } if output::stdout_is_terminal() => {
                LogPrintFormat::Lines(context.out.color)
            }
            _ => LogPrintFormat::Raw,
        },
        ends: BTreeMap::new(),
        last: None,
    };
    if args.follow {
        return follow(&mut printer, wanted, known);
    }
    let logs = wanted.of(reading.wait(reading.source.logs(run))?, None);
    if let (true, Some(name)) = (logs.is_empty(), &args.step) {
        output::print_message(&format!("{name} has no output"));
    }
    printer.print_all(&logs)?;
    printer.close();
    Ok(0)
}

pub(super) fn step(summary: &RunSummary, name: &str) -> Result<StepIx, CliError> {
    let step = run_source::step(summary, name)?;
    if !summary.plan().is_join(step) {
        return Ok(step);
    }
    let cells = summary.plan().needs(step);
    let cell = cells.first().map(|edge| summary.plan().name(edge.step())).unwrap_or_default();
    let hint = format!("name one of its cells, such as `{cell}`");
    Err(CliError::usage(format!("`{name}` is a matrix")).hint(hint))
}

/// The selected logs of a run.
#[derive(Clone, Copy)]
struct LogSelection {
    run: RunId,
    step: Option<StepIx>,
    attempt: Option<u16>,
}

impl LogSelection {
    /// Selects from these, in order. For one step: the last one, and logs newer than the one that was shown.
    fn of(self, logs: Vec<(LogId, u64)>, shown: Option<LogId>) -> Vec<(LogId, u64)> {
        let logs: Vec<_> = logs.into_iter().filter(|(log, _)| self.has(*log)).collect();
        let last = logs.last().map(|(log, _)| *log);
        let first = shown.or(last).filter(|_| self.step.is_some());
        logs.into_iter().filter(|(log, _)| first.is_none_or(|first| *log >= first)).collect()
    }

    fn has(self, log: LogId) -> bool {
        self.step.is_none_or(|step| log.step == step)
            && self.attempt.is_none_or(|attempt| log.attempt == attempt)
    }

    /// The log of the one selected step if it may still grow.
    fn open(self, summary: &RunSummary) -> Option<LogId> {
        let step = summary.step(self.step?)?;
        let last = step.last_delivery().filter(|last| last.outcome.is_none())?;
        let (attempt, delivery) = (last.attempt, last.delivery);
        Some(LogId::new(self.run, step.ix(), attempt, delivery)).filter(|it| self.has(*it))
    }

    /// Whether no further output can come.
    fn is_over(self, summary: &RunSummary) -> bool {
        match self.step {
            Some(step) => summary.step(step).is_none_or(|step| step.status().is_terminal()),
            None => summary.status().is_terminal(),
        }
    }
}

/// Prints the present output, then new output until the step or the run has ended.
fn follow(
    printer: &mut LogPrinter<'_>,
    wanted: LogSelection,
    mut known: KnownRun,
) -> Result<u8, CliError> {
    let reading = printer.reading;
    let source = &*reading.source;
    let mut first = None;
    loop {
        let over = wanted.is_over(&known.summary);
        let logs = retry_while_away(source.patience(), || source.logs(wanted.run), || ());
        let logs = wanted.of(reading.runtime.block_on(logs)?, first);
        first = first.or(logs.first().map(|(log, _)| *log));
        if !printer.print_all(&logs)? {
            return Ok(0);
        }
        if over {
            printer.close();
            return Ok(0);
        }
        let awaited = wanted.open(&known.summary).map(|log| (log, printer.end(log)));
        reading.runtime.block_on(wait_for_output(source, awaited, &mut known))?;
    }
}

/// Waits for more of a log, or for an event of its run, and applies it. With several logs, it looks for new output in
/// any of them after a short wait.
async fn wait_for_output(
    source: &dyn RunSource,
    awaited: Option<(LogId, u64)>,
    known: &mut KnownRun,
) -> Result<(), CliError> {
    let printed = async {
        let Some((log, from)) = awaited else {
            sleep(LOOK_EVERY).await;
            return Ok(());
        };
        retry_while_away(source.patience(), || source.log(log, from, WAIT), || ()).await.map(drop)
    };
    let (run, after) = (known.summary.run(), known.position);
    tokio::select! {
        printed = printed => printed,
        page = retry_while_away(source.patience(), || source.next_events(run, after, WAIT), || ()) => {
            let page = page?;
            page.apply_to(&mut known.summary);
            known.position = page.upto;
            Ok(())
        }
    }
}
