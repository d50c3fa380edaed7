//! Refuses a run whose secrets are not set, before anything starts.

use std::collections::BTreeSet;

use windlass_core::environment::MissingSecret;
use windlass_core::id::StepIx;
use windlass_core::plan::StepSpec;

use super::order::{Order, What};
use crate::cli::error::CliError;
use crate::worker::executors::missing_here;

/// Refuses a new run that is certain to lack a secret. Where other machines take part, the steps themselves fail: only
/// their workers know which secrets they have.
pub(super) fn refuse_missing(order: &Order) -> Result<(), CliError> {
    let What::New { plan, reused, .. } = &order.what else { return Ok(()) };
    if order.leading.is_some() {
        return Ok(());
    }
    // What is taken over from an earlier run needs no secret.
    let done: BTreeSet<StepIx> = reused.iter().map(|reused| reused.step).collect();
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
    let what = format!("the run was not begun: {}", what.join("; "));
    Err(CliError::usage(what).hint(format!(
        "set it in the environment: `{} windlass run …`; `secrets:` of the step lists what it gets",
        sets.join(" ")
    )))
}
