//! What a rerun takes over from the run that it repeats, and what it does again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::summary_type::Summary;
use crate::engine::{Reused, RunOptions};
use crate::id::StepIx;
use crate::outcome::{Output, RunStatus, StepStatus};
use crate::plan::{Condition, Plan};

/// How much of a run is done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// All of it.
    Everything,
    /// What did not succeed, and what needs it.
    Failed,
    /// These steps, and what needs them.
    From(&'a [StepIx]),
}

/// A run that repeats another, or a part of it.
#[derive(Clone, Debug)]
pub struct Again {
    /// The plan of that run, whatever its file says now.
    pub plan: Arc<Plan>,
    /// Its options; the chain of reruns has one root.
    pub options: RunOptions,
    /// What is taken over.
    pub reused: Vec<Reused>,
}

impl Summary {
    /// A run that does a part of this one again; nothing if what did not succeed is meant, and everything did.
    pub fn again(&self, part: Part<'_>) -> Option<Again> {
        if part == Part::Failed && self.status == RunStatus::Succeeded {
            return None;
        }
        let again = match part {
            Part::Everything => self.plan.nodes().collect(),
            Part::Failed => self.done_again(&self.forgotten()),
            Part::From(steps) => self.done_again(&[steps, &self.forgotten()].concat()),
        };
        let root = Some(self.options().root.unwrap_or(self.run));
        let options = RunOptions { root, ..self.options() };
        Some(Again { plan: Arc::clone(&self.plan), options, reused: self.taken_over(&again) })
    }

    /// Outcomes that are taken over: those that succeeded and are not to be done again.
    fn taken_over(&self, again: &BTreeSet<StepIx>) -> Vec<Reused> {
        let done = |status| matches!(status, StepStatus::Succeeded | StepStatus::Cached);
        let steps = self.steps().filter(|step| done(step.status()) && !again.contains(&step.ix()));
        steps
            .map(|step| Reused {
                step: step.ix(),
                from: step.reused_from().unwrap_or(self.run),
                output: step.output().cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// Steps whose results were kept in the memory of a worker: nobody can say that they still are.
    fn forgotten(&self) -> Vec<StepIx> {
        let in_memory =
            |output: &Output| matches!(output, Output::Kept(kept) if kept.is_in_memory());
        let steps = self.steps().filter(|step| step.output().is_some_and(in_memory));
        steps.map(|step| step.ix()).collect()
    }

    /// What is done again though it succeeded: the steps that were named, what is about the run as a whole, and
    /// everything that needs one of them.
    fn done_again(&self, named: &[StepIx]) -> BTreeSet<StepIx> {
        let plan = &self.plan;
        let of_run = |node: &StepIx| {
            plan.spec(*node).is_some_and(|spec| match spec.condition {
                Condition::Always | Condition::Failure => true,
                Condition::Success => false,
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
