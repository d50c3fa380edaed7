//! Leases that stand in line at their executor, which starts them by itself: what is known of them comes late.

use super::held_lease::HeldLeaseState;
use super::message::LeaseGrant;
use super::worker_session::{SessionAction, SessionPhase, UnsentNews, WorkerSession};
use crate::id::Fence;
use crate::time::Time;

impl WorkerSession {
    /// Has the executor keep the next ones, as many as it is to have beside those with a slot and as far as it can: what it
    /// says of each. For whom a start is a moment away, the wait for the order to start is longer than that moment.
    ///
    /// Where leases expire nothing stands in line: nobody would keep it from starting when its lease is over.
    pub fn enqueue_at_executor(
        &mut self,
        most: usize,
        can: impl Fn(&LeaseGrant) -> bool,
    ) -> Vec<SessionAction> {
        let idle = self.phase != SessionPhase::Working || self.config.leases_expire;
        let most = self.config.slots as usize + most;
        if idle || self.slots_free() > 0 {
            return Vec::new();
        }
        let mut actions = Vec::new();
        for (fence, held) in self.held.range_mut(self.unstarted..) {
            if !held.is_queued() {
                continue;
            }
            if self.occupied + self.executor_queued >= most || !can(&held.grant) {
                break;
            }
            self.executor_queued += 1;
            self.unstarted = *fence;
            held.state = HeldLeaseState::QueuedAtExecutor { stop: None };
            actions.push(SessionAction::Enqueue(held.grant.clone()));
        }
        actions
    }

    /// Learns that a step that was told to start stands in line all the same: it has not started before that is said.
    pub fn on_enqueued(&mut self, fence: Fence) {
        if let Some(held) = self.held.get_mut(&fence)
            && matches!(held.state, HeldLeaseState::Started { .. })
        {
            held.state = HeldLeaseState::QueuedAtExecutor { stop: None };
            self.executor_queued += 1;
            self.occupied -= 1;
        }
    }

    /// Learns that steps in line were started, and when.
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

    /// Learns when nothing was left of steps whose outcomes will follow: until then they ran.
    pub fn on_processes_gone(&mut self, gone: impl IntoIterator<Item = (Fence, Time)>) {
        for (fence, at) in gone {
            if let Some(held) = self.held.get_mut(&fence) {
                held.gone_at = Some(at);
            }
        }
    }
}
