//! Reruns: the steps to repeat, and the outcomes to reuse.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::run_summary::RunSummary;
use crate::engine::{ReusedOutcome, RunOptions};
use crate::id::StepIx;
use crate::outcome::{RunStatus, StepOutput, StepStatus, StepValue};
use crate::plan::{Plan, StatusCondition};

/// The scope of a rerun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerunScope<'a> {
    /// All steps.
    Everything,
    /// Steps that did not succeed, and those that need them.
    Failed,
    /// These steps, and those that need them.
    From(&'a [StepIx]),
}

/// The submission of a rerun.
#[derive(Clone, Debug)]
pub struct RerunSubmission {
    /// The plan of the original run, even if its file has changed.
    pub plan: Arc<Plan>,
    /// The options; all reruns of a chain have the same root.
    pub options: RunOptions,
    /// The reused outcomes.
    pub reused: Vec<ReusedOutcome>,
}

impl RunSummary {
    /// Creates a rerun of this run. Returns `None` for [`RerunScope::Failed`] if the run succeeded.
    pub fn rerun(&self, part: RerunScope<'_>) -> Option<RerunSubmission> {
        if part == RerunScope::Failed && self.status == RunStatus::Succeeded {
            return None;
        }
        let again = match part {
            RerunScope::Everything => self.plan.nodes().collect(),
            RerunScope::Failed => self.steps_to_rerun(&self.steps_with_memory_results()),
            RerunScope::From(steps) => {
                self.steps_to_rerun(&[steps, &self.steps_with_memory_results()].concat())
            }
        };
        let root = Some(self.options().root.unwrap_or(self.run));
        // The rerun belongs to the process that requests it, and not to a step.
        let options = RunOptions { root, owner: None, parent: None, ..self.options() };
        Some(RerunSubmission {
            plan: Arc::clone(&self.plan),
            options,
            reused: self.reused_outcomes(&again),
        })
    }

    /// Returns the outcomes to reuse: succeeded steps that are not repeated.
    fn reused_outcomes(&self, again: &BTreeSet<StepIx>) -> Vec<ReusedOutcome> {
        let done = |status| matches!(status, StepStatus::Succeeded | StepStatus::Cached);
        let steps = self.steps().filter(|step| done(step.status()) && !again.contains(&step.ix()));
        steps
            .map(|step| ReusedOutcome {
                step: step.ix(),
                from: step.reused_from().unwrap_or(self.run),
                output: step.output().cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// Returns the steps whose results were in the memory of a worker, which may have lost them.
    fn steps_with_memory_results(&self) -> Vec<StepIx> {
        let in_memory = |output: &StepOutput| matches!(&output.value, StepValue::Kept(kept) if kept.is_in_memory());
        let steps = self.steps().filter(|step| step.output().is_some_and(in_memory));
        steps.map(|step| step.ix()).collect()
    }

    /// Returns the steps to repeat even if they succeeded: the named ones, those with `always()` or `failure()`, and all
    /// steps that need one of them.
    fn steps_to_rerun(&self, named: &[StepIx]) -> BTreeSet<StepIx> {
        let plan = &self.plan;
        let of_run = |node: &StepIx| {
            plan.spec(*node).is_some_and(|spec| match spec.condition {
                StatusCondition::Always | StatusCondition::Failure => true,
                StatusCondition::Success => false,
            })
        };
        let mut open: Vec<StepIx> =
            plan.nodes().filter(of_run).chain(named.iter().copied()).collect();
        // Naming a matrix selects its cells.
        for join in named.iter().filter(|step| plan.is_join(**step)) {
            open.extend(plan.needs(*join).iter().map(|edge| edge.step()));
        }
        let mut found = BTreeSet::new();
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(plan.dependents(node).iter().map(|edge| edge.step()));
            }
        }
        found
    }
}
