//! The books of one run.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::engine::{CancelLevel, RunOptions};
use windlass_core::id::{Fence, StepIx};
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::{OnFailure, Plan, StatusCondition, ValueCondition};
use windlass_core::time::{Span, Time};

pub(super) struct WitnessRun {
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    /// When it was submitted, or resumed last.
    pub(super) active_since: Time,
    /// The time under a leader before that, without its interruptions.
    pub(super) active: Span,
    /// The longest time that it may take.
    pub(super) timeout: Option<Span>,
    pub(super) order: u64,
    pub(super) status: RunStatus,
    pub(super) cancel: Option<CancelLevel>,
    pub(super) failed: bool,
    pub(super) steps: Vec<WitnessStep>,
    /// Steps that ended because no worker could run them, or their needs.
    pub(super) idle: BTreeSet<StepIx>,
}

#[derive(Clone)]
pub(super) struct WitnessStep {
    pub(super) status: StepStatus,
    pub(super) lease: Option<Fence>,
    /// Its newest lease.
    pub(super) newest: Option<Fence>,
    pub(super) attempt: u16,
    pub(super) charged: u16,
    pub(super) accepted: u16,
    /// When its needs were met, or it was returned.
    pub(super) since: Time,
    /// Whether a retry must wait.
    pub(super) backing_off: bool,
    /// How often a step with no better rank took one of its locks.
    pub(super) passed: u32,
}

impl WitnessRun {
    pub(super) fn step(&self, step: StepIx) -> &WitnessStep {
        &self.steps[step.0 as usize]
    }

    /// Returns the status of a node. That of a join follows from its cells.
    pub(super) fn status(&self, node: StepIx) -> StepStatus {
        if !self.plan.is_join(node) {
            return self.step(node).status;
        }
        let mut cells = self.plan.needs(node).iter().map(|edge| self.status(edge.step()));
        if cells.any(|status| !status.is_terminal()) {
            StepStatus::Waiting
        } else if self.fails(node) || self.could_not_run(node) {
            StepStatus::Blocked
        } else {
            StepStatus::Succeeded
        }
    }

    /// Returns whether the failure of a node keeps others from running.
    pub(super) fn fails(&self, node: StepIx) -> bool {
        if self.plan.is_join(node) {
            return self.need_failed(node);
        }
        let book = self.step(node);
        let ignored = self.ignores_failure(node)
            && matches!(book.status, StepStatus::Failed | StepStatus::TimedOut);
        book.status.fails_dependents() && !self.idle.contains(&node) && !ignored
    }

    /// Returns whether a node keeps others from running because no worker could run it: a step, or a matrix of which no
    /// cell ran.
    pub(super) fn could_not_run(&self, node: StepIx) -> bool {
        if !self.plan.is_join(node) {
            let book = self.step(node);
            let ignored = self.ignores_failure(node) && book.status == StepStatus::Skipped;
            return self.idle.contains(&node) && !ignored;
        }
        let mut cells = self.plan.needs(node).iter().map(|edge| self.status(edge.step()));
        let idle = cells.all(|it| matches!(it, StepStatus::Skipped | StepStatus::Blocked));
        idle && !self.fails(node) && self.need_could_not_run(node)
    }

    fn ignores_failure(&self, node: StepIx) -> bool {
        self.plan.spec(node).is_some_and(|spec| spec.on_failure == OnFailure::Ignore)
    }

    /// Returns whether a required need has failed.
    pub(super) fn need_failed(&self, step: StepIx) -> bool {
        self.plan.needs(step).iter().any(|edge| edge.is_required() && self.fails(edge.step()))
    }

    /// Returns whether a required need could not run.
    pub(super) fn need_could_not_run(&self, step: StepIx) -> bool {
        let mut needs = self.plan.needs(step).iter();
        needs.any(|edge| edge.is_required() && self.could_not_run(edge.step()))
    }

    /// Returns whether all needs have ended in a way that lets the step run.
    pub(super) fn needs_met(&self, step: StepIx) -> bool {
        let ended = self.plan.needs(step).iter().all(|edge| self.status(edge.step()).is_terminal());
        let condition = self.plan.spec(step).map(|spec| spec.condition);
        ended
            && match condition {
                Some(StatusCondition::Success) => {
                    !self.need_failed(step) && !self.need_could_not_run(step)
                }
                Some(StatusCondition::Failure) => self.need_failed(step),
                Some(StatusCondition::Always) | None => true,
            }
    }

    /// Returns whether the step's condition on values lets it run at all.
    pub(super) fn may_run(&self, step: StepIx) -> bool {
        self.plan.spec(step).is_none_or(|spec| !matches!(spec.when, ValueCondition::Fails(_)))
    }

    /// Returns whether steps with this condition may still begin.
    pub(super) fn lets_begin(&self, condition: StatusCondition) -> bool {
        match self.cancel {
            Some(CancelLevel::Kill) => false,
            Some(CancelLevel::Stop) => condition == StatusCondition::Always,
            None => {
                !(self.failed && !self.options.keep_going && condition == StatusCondition::Success)
            }
        }
    }
}
