//! The steps that run inside the worker, as the guard sees them.

use std::collections::BTreeMap;

use rustix::process::{Pid, Signal, getppid, kill_process};
use windlass_core::id::Fence;
use windlass_core::session::ContactDeadline;
use windlass_core::time::Time;

/// The steps that the worker runs itself, each with its deadline.
#[derive(Debug)]
pub(super) struct InProcessSteps {
    /// The process that started this guard.
    worker: Option<Pid>,
    steps: BTreeMap<Fence, Option<ContactDeadline>>,
    /// When no process of any step may be alive, here or in the worker.
    expires_at: Option<Time>,
}

impl InProcessSteps {
    /// Creates an empty list for the process that started this one.
    pub(super) fn of_parent() -> Self {
        Self { worker: getppid(), steps: BTreeMap::new(), expires_at: None }
    }

    /// Adds a step that has begun, or changes its deadline.
    pub(super) fn hold(&mut self, fence: Fence, at: Option<ContactDeadline>) {
        self.steps.insert(fence, at);
    }

    /// Changes the deadline of a listed step.
    pub(super) fn set_deadline(&mut self, fence: Fence, at: Option<ContactDeadline>) {
        if let Some(known) = self.steps.get_mut(&fence) {
            *known = at;
        }
    }

    /// Removes a step that is over.
    pub(super) fn release(&mut self, fence: Fence) {
        self.steps.remove(&fence);
    }

    /// Sets when nothing of any step may be alive.
    pub(super) const fn set_expiry(&mut self, at: Option<Time>) {
        self.expires_at = at;
    }

    /// Returns whether the expiry has passed.
    pub(super) fn has_expired(&self, now: Time) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns the next deadline.
    pub(super) fn due(&self) -> Option<Time> {
        let deadlines = self.steps.values().flatten().map(|deadline| deadline.kills_at);
        deadlines.chain(self.expires_at).min()
    }

    /// Kills the worker if one of its steps is alive past its deadline. The guard then handles the worker's death.
    pub(super) fn enforce(&mut self, now: Time) {
        if self.steps.is_empty() || self.due().is_none_or(|at| now < at) {
            return;
        }
        self.steps.clear();
        // If the parent is gone, this process has another one: then there is no worker to kill.
        let worker = self.worker.filter(|worker| getppid() == Some(*worker));
        if let Some(worker) = worker {
            // It fails if the worker has just ended.
            let _ = kill_process(worker, Signal::KILL);
        }
    }
}
