//! Steps that run inside the worker, as the guard sees them.

use std::collections::BTreeMap;

use rustix::process::{Pid, Signal, getppid, kill_process};
use windlass_core::id::Fence;
use windlass_core::session::ContactDeadline;
use windlass_core::time::Time;

/// What the worker runs itself, and by when it has to be over.
#[derive(Debug)]
pub(super) struct InProcessSteps {
    /// Who started this guard.
    worker: Option<Pid>,
    steps: BTreeMap<Fence, Option<ContactDeadline>>,
    /// When nothing of any step may be alive, here or in the worker.
    expires_at: Option<Time>,
}

impl InProcessSteps {
    /// Nothing yet, of the process that started this one.
    pub(super) fn of_parent() -> Self {
        Self { worker: getppid(), steps: BTreeMap::new(), expires_at: None }
    }

    /// A step has begun, or has another deadline.
    pub(super) fn hold(&mut self, fence: Fence, at: Option<ContactDeadline>) {
        self.steps.insert(fence, at);
    }

    /// A step that is held has another deadline.
    pub(super) fn set_deadline(&mut self, fence: Fence, at: Option<ContactDeadline>) {
        if let Some(known) = self.steps.get_mut(&fence) {
            *known = at;
        }
    }

    /// A step is over.
    pub(super) fn release(&mut self, fence: Fence) {
        self.steps.remove(&fence);
    }

    /// Sets when nothing of any step may be alive.
    pub(super) const fn set_expiry(&mut self, at: Option<Time>) {
        self.expires_at = at;
    }

    /// Whether nothing of any step may be alive any more.
    pub(super) fn has_expired(&self, now: Time) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// When something has to be ended, if nothing changes.
    pub(super) fn due(&self) -> Option<Time> {
        let deadlines = self.steps.values().flatten().map(|deadline| deadline.kills_at);
        deadlines.chain(self.expires_at).min()
    }

    /// Kills the worker if a step of it is alive past its deadline. All that follows from its death follows.
    pub(super) fn enforce(&mut self, now: Time) {
        if self.steps.is_empty() || self.due().is_none_or(|at| now < at) {
            return;
        }
        self.steps.clear();
        // A parent that is gone has left its child to another: then there is nobody to kill.
        let worker = self.worker.filter(|worker| getppid() == Some(*worker));
        if let Some(worker) = worker {
            // It fails if it has just ended.
            let _ = kill_process(worker, Signal::KILL);
        }
    }
}
