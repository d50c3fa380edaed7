//! Refuses a run whose secrets are not set, before anything starts.

use std::collections::BTreeSet;

use windlass_core::environment::MissingSecret;
use windlass_core::id::StepIx;
use windlass_core::plan::{Plan, StepSpec};
use windlass_core::summary::RunSummary;
use windlass_worker::executors::missing_here;

use super::options::{LocalRunKind, LocalRunOptions};
use crate::cli::error::CliError;

/// Refuses a new run that lacks a secret.
pub(super) fn refuse_missing(order: &LocalRunOptions) -> Result<(), CliError> {
    let LocalRunKind::New { plan, reused, .. } = &order.kind else { return Ok(()) };
    // Reused outcomes need no secret.
    refuse(order, plan, &reused.iter().map(|reused| reused.step).collect(), "begun")
}

/// Refuses to resume a run whose unfinished steps lack a secret. It can be resumed later.
pub(super) fn refuse_missing_of_rest(
    order: &LocalRunOptions,
    summary: &RunSummary,
) -> Result<(), CliError> {
    let ended = summary.steps().filter(|step| step.status().is_terminal());
    refuse(order, summary.plan(), &ended.map(|step| step.ix()).collect(), "resumed")
}

/// With other machines in the run, the steps themselves fail: only their workers know which secrets they have.
fn refuse(
    order: &LocalRunOptions,
    plan: &Plan,
    done: &BTreeSet<StepIx>,
    what_not: &str,
) -> Result<(), CliError> {
    if order.leading.is_some() {
        return Ok(());
    }
    let runs = |step, spec: &StepSpec| {
        !done.contains(&step) && spec.placement.requirement.matches(&order.labels)
    };
    let missing = missing_here(plan, runs);
    if missing.is_empty() {
        return Ok(());
    }
    let text = |it: &MissingSecret| format!("secret {} is not set (step `{}`)", it.secret, it.step);
    let what: Vec<String> = missing.iter().map(text).collect();
    let sets: Vec<String> = missing.iter().map(|it| format!("{}=…", it.secret)).collect();
    let what = format!("the run was not {what_not}: {}", what.join("; "));
    Err(CliError::usage(what).hint(format!(
        "set it in the environment: `{} windlass run …`; `secrets:` of the step lists the variables that it gets",
        sets.join(" ")
    )))
}
