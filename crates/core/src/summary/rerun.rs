//! What a rerun takes over from the run that it repeats, and what it does again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::run_summary::RunSummary;
use crate::engine::{ReusedOutcome, RunOptions};
use crate::id::StepIx;
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::plan::{Plan, StatusCondition};

/// How much of a run is done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerunScope<'a> {
    /// All of it.
    Everything,
    /// What did not succeed, and what needs it.
    Failed,
    /// These steps, and what needs them.
    From(&'a [StepIx]),
}

/// A run that repeats another, or a part of it.
#[derive(Clone, Debug)]
pub struct RerunSubmission {
    /// The plan of that run, whatever its file says now.
    pub plan: Arc<Plan>,
    /// Its options; the chain of reruns has one root.
    pub options: RunOptions,
    /// What is taken over.
    pub reused: Vec<ReusedOutcome>,
}

impl RunSummary {
    /// A run that does a part of this one again; nothing if what did not succeed is meant, and everything did.
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
        let options = RunOptions { root, ..self.options() };
        Some(RerunSubmission {
            plan: Arc::clone(&self.plan),
            options,
            reused: self.reused_outcomes(&again),
        })
    }

    /// Outcomes that are taken over: those that succeeded and are not to be done again.
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

    /// Steps whose results were kept in the memory of a worker: nobody can say that they still are.
    fn steps_with_memory_results(&self) -> Vec<StepIx> {
        let in_memory =
            |output: &StepOutput| matches!(output, StepOutput::Kept(kept) if kept.is_in_memory());
        let steps = self.steps().filter(|step| step.output().is_some_and(in_memory));
        steps.map(|step| step.ix()).collect()
    }

    /// What is done again though it succeeded: the steps that were named, what is about the run as a whole, and
    /// everything that needs one of them.
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
        // Who names a matrix means its cells.
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
