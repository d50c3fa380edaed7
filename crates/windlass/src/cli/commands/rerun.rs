//! `windlass rerun`

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use windlass_core::engine::{RunOptions, Unplaceable};
use windlass_core::id::StepIx;
use windlass_core::summary::{Again, Part, Summary};

use super::submitted::{Submitted, Then};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::how::HowArgs;
use crate::cli::reading::{self, Controller, Local, Origin, OriginArgs, Remote, Source as _};
use crate::cli::running::{self, Order, What};
use crate::cli::watching::Prints;
use crate::cli::{exit, output};

/// Run the plan of an earlier run again, or a part of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The plan is the one of that run, whatever the file says now. Steps with `if: always()` or `if: failure()`, and what needs
them, are never taken over: they are about the run that they are part of.

Examples:
  windlass rerun latest --failed     only what did not succeed
  windlass rerun latest --from test  `test` and what needs it
  windlass rerun latest --failed --to http://build.example:7700 --wait")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Take over what succeeded
    #[arg(long, conflicts_with = "from")]
    failed: bool,
    /// Take over everything but this step and what needs it; may be given several times
    #[arg(long, value_name = "STEP")]
    from: Vec<String>,
    /// Do what is done once (`idempotent:`) though it was done before
    #[arg(long)]
    again: bool,
    /// Watch the run at a controller, and end with its exit code; here one always does
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Makes a new run that takes outcomes over.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let folder = match args.origin.origin(context)? {
        Origin::Store(folder) => folder,
        Origin::Controller(controller) => return run_there(args, context, *controller),
    };
    // Whoever reads a store keeps files open that the next one wants to write, so this reading ends first.
    let Some(order) = order(args, context, folder)? else { return Ok(exit::SUCCESS) };
    running::run(order)
}

/// Has a controller make the new run.
fn run_there(args: &Args, context: &Context, controller: Controller) -> Result<u8, CliError> {
    if let Some(flag) = args.how.only_here() {
        let what = format!("{flag} is about steps that run here, and a controller has its workers");
        return Err(CliError::usage(what).hint("leave it out, or mean a store with --store FOLDER"));
    }
    let (runtime, remote) = (reading::runtime()?, Remote::new(controller));
    let summary = runtime.block_on(async {
        let run = remote.find(&args.run).await?;
        Ok::<_, CliError>(remote.known(run).await?.summary)
    })?;
    // It decides itself; here it is seen sooner what makes no sense.
    if args.again(&summary)?.is_none() {
        return Ok(exit::SUCCESS);
    }
    let controller = remote.into_controller();
    let path = format!("/runs/{}/rerun", summary.run());
    let body = json!({ "failed": args.failed, "from": args.from, "again": args.again });
    let submitted = runtime.block_on(Submitted::ask(&controller, &path, &body, None))?;
    let (wait, named) = (args.wait, args.from.clone());
    let prints = if args.how.json { Prints::Events } else { Prints::Output };
    submitted.follow(controller, &runtime, Then { wait, prints, named, context })
}

impl Args {
    /// What there is to do; nothing if what did not succeed is asked for, and everything did.
    fn again(&self, summary: &Summary) -> Result<Option<Again>, CliError> {
        let from = self.from.iter().map(|from| reading::step(summary, from));
        let from: Vec<StepIx> = from.collect::<Result<_, _>>()?;
        let part = match (self.failed, from.as_slice()) {
            (true, _) => Part::Failed,
            (false, []) => Part::Everything,
            (false, from) => Part::From(from),
        };
        let again = summary.again(part);
        if again.is_none() {
            output::talk(&format!("run {}: everything in it succeeded", summary.run()));
        }
        Ok(again)
    }
}

/// What there is to do here.
fn order(args: &Args, context: &Context, folder: PathBuf) -> Result<Option<Order>, CliError> {
    let root = reading::root(args.origin.store.as_deref(), context, &folder);
    let local = Local::open(context, folder.clone())?;
    let summary = reading::runtime()?.block_on(async {
        let run = local.find(&args.run).await?;
        Ok::<_, CliError>(local.known(run).await?.summary)
    })?;
    let Some(again) = args.again(&summary)? else { return Ok(None) };
    let options = RunOptions {
        unplaceable: match again.options.unplaceable {
            Unplaceable::Fail => Unplaceable::Fail,
            Unplaceable::Skip | Unplaceable::Wait => Unplaceable::Skip,
        },
        ..again.options
    };
    let plan = Arc::new(Arc::unwrap_or_clone(again.plan).done_again(args.again));
    let what = What::New { plan, options, reused: again.reused };
    Ok(Some(Order {
        root,
        store: Some(folder),
        accept_lost_history: false,
        what,
        slots: args.how.slots(),
        labels: context.compiled.labels(&args.how.labels()),
        compiled: context.compiled.clone(),
        named: Vec::new(),
        hints: local.hints().clone(),
        mode: args.how.mode(),
        json: args.how.json,
        junit: args.how.junit.clone(),
        collector: args.how.collector(),
        leading: None,
        look: context.err,
    }))
}
