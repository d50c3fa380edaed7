//! `windlass rerun`

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::engine::{Reused, RunOptions, Unplaceable};
use windlass_core::id::StepIx;
use windlass_core::outcome::StepStatus;
use windlass_core::summary::Summary;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::reading::{self, Reading, StoreArgs};
use crate::cli::running::{self, Order, What};
use crate::worker::labels;

/// Run the plan of an earlier run again, or a part of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The plan is the one of that run, whatever the file says now.

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
    /// Steps at a time
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    jobs: Option<u32>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Makes a new run that takes outcomes over.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let (order, reading) = order(args, context)?;
    // Whoever reads a store keeps files open that the next one wants to write.
    drop(reading);
    running::run(order)
}

fn order(args: &Args, context: &Context) -> Result<(Order, Reading), CliError> {
    let reading = Reading::open(&args.store, context)?;
    let summary = reading.summary(&args.run)?;
    let again = match &args.from {
        Some(from) => dependents(&summary, reading::step(&summary, from)?),
        None if args.failed => BTreeSet::new(),
        None => summary.plan().nodes().collect(),
    };
    let options = RunOptions {
        root: Some(summary.options().root.unwrap_or(summary.run())),
        unplaceable: Unplaceable::Skip,
        ..summary.options()
    };
    let what =
        What::New { plan: Arc::clone(summary.plan()), options, reused: reused(&summary, &again) };
    let root = reading.folder.parent().map_or(context.folder.clone(), ToOwned::to_owned);
    let order = Order {
        root,
        store: Some(reading.folder.clone()),
        what,
        slots: args.jobs.unwrap_or_else(super::run::cores),
        labels: labels::detect(),
        named: Vec::new(),
        again: None,
        mode: None,
        json: false,
        junit: None,
        look: context.err,
    };
    Ok((order, reading))
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

/// A step and everything that needs it; a matrix with its cells.
fn dependents(summary: &Summary, step: StepIx) -> BTreeSet<StepIx> {
    let plan = summary.plan();
    let mut found = BTreeSet::new();
    let mut open = vec![step];
    if plan.is_join(step) {
        open.extend(plan.needs(step).iter().map(|edge| edge.step()));
    }
    while let Some(node) = open.pop() {
        if found.insert(node) {
            open.extend(plan.dependents(node).iter().map(|edge| edge.step()));
        }
    }
    found
}
