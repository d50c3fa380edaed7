//! `windlass rerun`

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::engine::{Reused, RunOptions, Unplaceable};
use windlass_core::id::StepIx;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::Condition;
use windlass_core::summary::Summary;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::how::HowArgs;
use crate::cli::reading::{self, Local, Origin, OriginArgs, Source as _};
use crate::cli::running::{self, Order, What};
use crate::cli::{exit, output};

/// Run the plan of an earlier run again, or a part of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The plan is the one of that run, whatever the file says now. Steps with `if: always()` or `if: failure()`, and what needs
them, are never taken over: they are about the run that they are part of.

Examples:
  windlass rerun latest --failed     only what did not succeed
  windlass rerun latest --from test  `test` and what needs it")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Take over what succeeded
    #[arg(long, conflicts_with = "from")]
    failed: bool,
    /// Take over everything but this step and what needs it
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Makes a new run that takes outcomes over.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let Origin::Store(folder) = args.origin.origin(context)? else {
        return Err(CliError::usage("a run at a controller cannot be run again yet").hint(
            "`--store .windlass` means the runs of this machine; `windlass submit` makes a new one",
        ));
    };
    // Whoever reads a store keeps files open that the next one wants to write, so this reading ends first.
    let Some(order) = order(args, context, folder)? else { return Ok(exit::SUCCESS) };
    running::run(order)
}

/// What there is to do; nothing if what did not succeed is asked for, and everything did.
fn order(args: &Args, context: &Context, folder: PathBuf) -> Result<Option<Order>, CliError> {
    let root = reading::root(args.origin.store.as_deref(), context, &folder);
    let local = Local::open(context, folder.clone())?;
    let summary = reading::runtime()?.block_on(async {
        let run = local.find(&args.run).await?;
        Ok::<_, CliError>(local.known(run).await?.summary)
    })?;
    if args.failed && summary.status() == RunStatus::Succeeded {
        output::talk(&format!("run {}: everything in it succeeded", summary.run()));
        return Ok(None);
    }
    let again = match &args.from {
        Some(from) => again(&summary, Some(reading::step(&summary, from)?)),
        None if args.failed => again(&summary, None),
        None => summary.plan().nodes().collect(),
    };
    let options = RunOptions {
        root: Some(summary.options().root.unwrap_or(summary.run())),
        unplaceable: match summary.options().unplaceable {
            Unplaceable::Fail => Unplaceable::Fail,
            Unplaceable::Skip | Unplaceable::Wait => Unplaceable::Skip,
        },
        ..summary.options()
    };
    let what =
        What::New { plan: Arc::clone(summary.plan()), options, reused: reused(&summary, &again) };
    Ok(Some(Order {
        root,
        store: Some(folder),
        what,
        slots: args.how.slots(),
        labels: args.how.labels(),
        named: Vec::new(),
        hints: local.hints().clone(),
        mode: args.how.mode(),
        json: args.how.json,
        junit: args.how.junit.clone(),
        collector: args.how.collector(),
        look: context.err,
    }))
}

/// Outcomes that are taken over: those that succeeded and are not to be done again.
fn reused(summary: &Summary, again: &BTreeSet<StepIx>) -> Vec<Reused> {
    let done = |status| matches!(status, StepStatus::Succeeded | StepStatus::Cached);
    let steps = summary.steps().filter(|step| done(step.status()) && !again.contains(&step.ix()));
    steps
        .map(|step| Reused {
            step: step.ix(),
            from: step.reused_from().unwrap_or(summary.run()),
            output: step.output().cloned().unwrap_or_default(),
        })
        .collect()
}

/// What is done again though it succeeded: the step that was named, what is about the run as a whole, and everything that
/// needs one of them.
fn again(summary: &Summary, named: Option<StepIx>) -> BTreeSet<StepIx> {
    let plan = summary.plan();
    let of_run = |node: &StepIx| {
        plan.spec(*node).is_some_and(|spec| match spec.condition {
            Condition::Always | Condition::Failure => true,
            Condition::Success => false,
        })
    };
    let mut open: Vec<StepIx> = plan.nodes().filter(of_run).chain(named).collect();
    if let Some(join) = named.filter(|step| plan.is_join(*step)) {
        open.extend(plan.needs(join).iter().map(|edge| edge.step()));
    }
    let mut found = BTreeSet::new();
    while let Some(node) = open.pop() {
        if found.insert(node) {
            open.extend(plan.dependents(node).iter().map(|edge| edge.step()));
        }
    }
    found
}
