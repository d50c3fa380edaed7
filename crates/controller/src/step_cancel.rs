//! Lets a running step cancel its run.

use windlass_core::access::Principal;
use windlass_core::engine::{CancelLevel, EngineCall};
use windlass_core::id::WorkerId;
use windlass_core::session::LeaseRef;

use super::handle::{NodeHandle, NotLeader};

impl NodeHandle {
    /// Cancels the run of a step that holds this lease. If a worker asks, the lease has to be on this worker. A lease
    /// that is no longer held has no effect.
    pub async fn cancel_by_step(
        &self,
        worker: Option<WorkerId>,
        lease: LeaseRef,
    ) -> Result<(), NotLeader> {
        let holder = self.views().with(|view| {
            let open = view.engine.lease(lease.run, lease.step)?;
            (open.fence == lease.fence).then_some(open.worker)
        });
        let Some(holder) = holder.filter(|holder| worker.is_none_or(|worker| worker == *holder))
        else {
            return Ok(());
        };
        let cancel = EngineCall::cancel(lease.run, CancelLevel::Stop);
        // The run may have ended meanwhile, with the same result.
        self.call(cancel.by(Principal::Worker { id: holder })).await.map(drop)
    }
}
