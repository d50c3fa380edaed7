//! Leases that are queued at their executor. It starts them by itself, so the session learns of starts late.

use super::held_lease::HeldLeaseState;
use super::message::LeaseGrant;
use super::worker_session::{SessionAction, SessionPhase, UnsentNews, WorkerSession};
use crate::id::Fence;
use crate::time::Time;

impl WorkerSession {
    /// Decides which steps wait in the queue of the executor, as far as it can queue them: the steps that these actions
    /// start, and at most this many beside those with a slot. An order to start takes longer than a short step.
    ///
    /// A step that is to start now is queued too, so that the steps behind it cannot take its slot. While a step runs that
    /// the executor cannot queue, it gets no more: its queue does not know of the slot that this step occupies.
    ///
    /// Where leases expire nothing is queued at the executor: nothing would keep it from starting a step whose lease is
    /// over.
    pub fn assign_to_executor(
        &mut self,
        actions: Vec<SessionAction>,
        queued_max: usize,
        can_queue: impl Fn(&LeaseGrant) -> bool,
    ) -> Vec<SessionAction> {
        if self.config.leases_expire {
            return actions;
        }
        let assign = |action| match action {
            SessionAction::Start(grant) if can_queue(&grant) => self.enqueue_start(grant),
            SessionAction::Start(grant) => self.start_past_queue(grant),
            action @ (SessionAction::Enqueue(_)
            | SessionAction::Stop(_)
            | SessionAction::Withdraw(_)) => action,
        };
        let mut assigned: Vec<SessionAction> = actions.into_iter().map(assign).collect();
        if self.past_queue == 0 {
            self.enqueue_ahead(&mut assigned, queued_max, can_queue);
        }
        assigned
    }

    /// A step that was to start waits in the queue instead: it has not started before the executor says so.
    fn enqueue_start(&mut self, grant: LeaseGrant) -> SessionAction {
        if let Some(held) = self.held.get_mut(&grant.lease.fence)
            && matches!(held.state, HeldLeaseState::Started { .. })
        {
            held.state = HeldLeaseState::QueuedAtExecutor { stop: None };
            self.executor_queued += 1;
            self.occupied -= 1;
        }
        SessionAction::Enqueue(grant)
    }

    fn start_past_queue(&mut self, grant: LeaseGrant) -> SessionAction {
        if let Some(held) = self.held.get_mut(&grant.lease.fence) {
            held.is_past_queue = true;
            self.past_queue += 1;
        }
        SessionAction::Start(grant)
    }

    /// Has the executor queue the next steps.
    fn enqueue_ahead(
        &mut self,
        actions: &mut Vec<SessionAction>,
        queued_max: usize,
        can_queue: impl Fn(&LeaseGrant) -> bool,
    ) {
        let most = self.config.slots as usize + queued_max;
        if self.phase != SessionPhase::Working || self.slots_free() > 0 {
            return;
        }
        for (fence, held) in self.held.range_mut(self.unstarted..) {
            if !held.is_queued() {
                continue;
            }
            if self.occupied + self.executor_queued >= most || !can_queue(&held.grant) {
                break;
            }
            self.executor_queued += 1;
            self.unstarted = *fence;
            held.state = HeldLeaseState::QueuedAtExecutor { stop: None };
            actions.push(SessionAction::Enqueue(held.grant.clone()));
        }
    }

    /// Records that queued steps were started, and when.
    pub fn on_queue_started(&mut self, begun: impl IntoIterator<Item = (Fence, Time)>) {
        for (fence, at) in begun {
            if let Some(held) = self.held.get_mut(&fence)
                && held.start_from_queue(at)
            {
                self.executor_queued -= 1;
                self.occupied += 1;
                self.unsent = self.unsent.max(UnsentNews::Started);
            }
        }
    }

    /// Records when the last process of a step ended whose outcome will follow: the step ran until then.
    pub fn on_processes_gone(&mut self, gone: impl IntoIterator<Item = (Fence, Time)>) {
        for (fence, at) in gone {
            if let Some(held) = self.held.get_mut(&fence) {
                held.gone_at = Some(at);
            }
        }
    }
}
