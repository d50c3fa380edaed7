//! `windlass run`

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::engine::{RunOptions, Unplaceable};
use windlass_core::expand::{Expanded, Selection};
use windlass_core::problem::Severity;
use windlass_core::requirement::Labels;
use windlass_core::spec::limit;
use windlass_core::time::Span;

use crate::cli::args::GivenParam;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::load::Loaded;
use crate::cli::output::OutputMode;
use crate::cli::project::{STORE, Target};
use crate::cli::running::{self, Order, What};
use crate::worker::labels;

/// Run a pipeline on this machine
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "\
The first Ctrl-C ends the run politely, the second one at once. `t` shows what runs and what waits.

Examples:
  windlass run
  windlass run test                  `test` and what it needs
  windlass run ship.yml -p channel=stable --jobs 8
  windlass run --resume              go on with a run that was interrupted")]
pub(crate) struct Args {
    /// The pipeline file, if it ends in .yml or .yaml or contains `/`; then steps
    #[arg(value_name = "FILE | STEP")]
    target: Vec<String>,
    /// Give a param a value
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<GivenParam>,
    /// Run this step and nothing else
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Run this step and everything that needs it
    #[arg(long, value_name = "STEP")]
    from: Vec<String>,
    /// Run this step and everything that it needs
    #[arg(long, value_name = "STEP")]
    until: Vec<String>,
    /// Run steps with this tag and everything that they need
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Steps at a time; as many as there are cores if not said
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    jobs: Option<u32>,
    /// Advertise one more label
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    /// After a failure, run what does not depend on it
    #[arg(long)]
    keep_going: bool,
    /// Fail a step that this machine cannot run, instead of skipping it
    #[arg(long)]
    no_skip: bool,
    /// Show what would be done
    #[arg(long)]
    dry_run: bool,
    /// What to show of what steps print
    #[arg(long, value_name = "MODE", value_enum)]
    output: Option<Mode>,
    /// Print events as JSON, one a line
    #[arg(long)]
    json: bool,
    /// Write a report in the format of `JUnit`
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Go on with a run that was interrupted, the newest one if none is named
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    resume: Option<String>,
    /// The longest that the run may take, such as 90s or 2h
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    timeout: Option<Span>,
    /// Where to keep runs: a folder, or `memory`
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Mode {
    /// Each line as it comes, behind the name of its step
    Stream,
    /// All of a step when it has ended
    Group,
    /// That of steps that failed
    Failures,
    /// Nothing
    None,
}

fn read_duration(text: &str) -> Result<Span, String> {
    limit(text).map_err(|_| "write it like 250ms, 90s, 15m or 2h, not zero".to_owned())
}

/// Plans the run and does it.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let target = Target::read(&args.target);
    let unavailable = if args.dry_run { Severity::Note } else { Severity::Error };
    let loaded = Loaded::read(context, target.file.as_deref(), unavailable)?;
    let loaded = loaded.select(&args.selection(&target))?;
    if args.dry_run {
        return super::plan::show(&loaded, &args.param, context, args.json);
    }
    let expanded = loaded.plan(&args.param)?;
    let again = match &target.file {
        Some(file) => format!("windlass run {}", file.display()),
        None => "windlass run".to_owned(),
    };
    running::run(Order {
        root: loaded.project.root.clone(),
        store: store(args, &loaded),
        what: args.what(expanded),
        slots: args.jobs.unwrap_or_else(cores),
        labels: with_labels(&args.label),
        named: target.steps,
        again: Some(again),
        mode: args.output.map(Into::into),
        json: args.json,
        junit: args.junit.clone(),
        look: context.err,
    })
}

impl Args {
    fn selection(&self, target: &Target) -> Selection {
        Selection {
            steps: target.steps.iter().chain(&self.until).cloned().collect(),
            only: self.only.clone(),
            from: self.from.clone(),
            tags: self.tag.clone(),
        }
    }

    fn what(&self, expanded: Expanded) -> What {
        let options = RunOptions {
            root: None,
            keep_going: self.keep_going,
            unplaceable: if self.no_skip { Unplaceable::Fail } else { Unplaceable::Skip },
            timeout: self.timeout.or(expanded.timeout),
        };
        let plan = Arc::new(expanded.plan);
        match self.resume.as_deref() {
            None => What::New { plan, options, reused: Vec::new() },
            Some("") => What::Resume { run: None, plan },
            Some(run) => What::Resume { run: Some(run.to_owned()), plan },
        }
    }
}

fn store(args: &Args, loaded: &Loaded) -> Option<PathBuf> {
    match args.store.as_deref() {
        Some("memory") => None,
        Some(folder) => Some(folder.trim_start_matches("sqlite:").into()),
        None => Some(loaded.project.root.join(STORE)),
    }
}

pub(super) fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(1)
}

pub(super) fn with_labels(more: &[String]) -> Labels {
    let detected = labels::detect();
    Labels::new(detected.iter().chain(more.iter().map(String::as_str)))
}

impl From<Mode> for OutputMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Stream => Self::Stream,
            Mode::Group => Self::Group,
            Mode::Failures => Self::Failures,
            Mode::None => Self::None,
        }
    }
}
