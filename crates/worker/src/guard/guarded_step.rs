//! A step under the guard, as its executor sees it.

use tokio::sync::{mpsc, watch};
use windlass_core::id::Fence;
use windlass_core::session::{ContactDeadline, StopMode};
use windlass_core::time::{Span, Time};

use super::guard_link::GuardedStepState;
use super::guard_protocol::{GuardRequest, StepExit};
use super::handle::GuardLinkCommand;

/// A step that runs inside this process and that the guard was informed of.
#[derive(Debug)]
pub struct InProcessStep {
    pub(super) fence: Fence,
    pub(super) orders: mpsc::Sender<GuardLinkCommand>,
}

impl InProcessStep {
    /// Sets when no process of the step may be alive, see [`GuardedStep::set_deadline`]. If the step still runs then,
    /// the guard kills this process.
    pub async fn set_deadline(&self, at: Option<ContactDeadline>) {
        let request = GuardRequest::Deadline { fence: self.fence, at };
        // An error means that the guard is dead, and this process is about to end too.
        drop(self.orders.send(GuardLinkCommand::Tell(request)).await);
    }

    /// Reports that the step is over.
    pub async fn release(self) {
        drop(
            self.orders
                .send(GuardLinkCommand::Tell(GuardRequest::Release { fence: self.fence }))
                .await,
        );
    }
}

/// A step that a guard supervises. Dropping this value does not affect the step while the guard runs.
#[derive(Debug)]
pub struct GuardedStep {
    pub(super) fence: Fence,
    pub(super) orders: mpsc::Sender<GuardLinkCommand>,
    pub(super) state: watch::Receiver<GuardedStepState>,
}

impl GuardedStep {
    /// The lease that it runs under.
    pub const fn fence(&self) -> Fence {
        self.fence
    }

    /// Returns the process id of its main process, once its start has been reported.
    pub fn pid(&self) -> Option<i32> {
        self.state.borrow().pid
    }

    /// Waits until it has started, and returns when, on the clock that counts since the boot of the machine. `None` if
    /// it has ended without a start.
    pub async fn begun(&self) -> Option<Time> {
        let mut state = self.state.clone();
        let begun = state.wait_for(|state| state.begun.is_some() || state.gone).await;
        // An error means that the guard link is gone.
        begun.ok().and_then(|state| state.begun)
    }

    /// Waits until its main process has ended. Other processes of it may be left, and may write to its output.
    pub async fn exited(&self) -> StepExit {
        self.wait(|state| state.exit.is_some()).await
    }

    /// Waits until no process of it is left. Only then may its lease and its locks pass on.
    pub async fn gone(&self) -> StepExit {
        self.wait(|state| state.gone).await
    }

    /// Returns when no process of it was left, on the clock that counts since the boot of the machine. `None` before
    /// that, and if the guard did not see it.
    pub fn gone_at(&self) -> Option<Time> {
        self.state.borrow().gone_at
    }

    /// Stops it: with SIGTERM and, after the grace, SIGKILL, or with SIGKILL at once. A later order can only hasten the
    /// end.
    pub async fn stop(&self, how: StopMode, grace: Span) {
        self.tell(GuardRequest::Stop { fence: self.fence, how, grace }).await;
    }

    /// Keeps it from starting if it is in the start queue.
    pub async fn withdraw(&self) {
        self.tell(GuardRequest::Withdraw { fence: self.fence }).await;
    }

    /// Sets when it is ordered to end and when no process of it may be alive. Both are times of the clock that counts
    /// since the boot of the machine, suspension included.
    pub async fn set_deadline(&self, at: Option<ContactDeadline>) {
        self.tell(GuardRequest::Deadline { fence: self.fence, at }).await;
    }

    async fn wait(&self, reached: impl Fn(&GuardedStepState) -> bool) -> StepExit {
        let mut state = self.state.clone();
        let reached = state.wait_for(|state| reached(state)).await;
        // An error means that the guard link is gone.
        let exit = reached.ok().and_then(|state| state.exit.clone());
        exit.unwrap_or(StepExit::Lost)
    }

    async fn tell(&self, request: GuardRequest) {
        // An error means that the guard is dead, and the step with it.
        drop(self.orders.send(GuardLinkCommand::Tell(request)).await);
    }
}
