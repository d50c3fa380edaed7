//! What a step wants of the leader while it runs.

use windlass_core::access::Principal;
use windlass_core::engine::{CancelLevel, EngineCall};
use windlass_core::id::WorkerId;
use windlass_core::session::LeaseRef;

use super::handle::{NodeHandle, NotLeader};

impl NodeHandle {
    /// Cancels the run of a step, which has to hold the lease that it names; on this worker, where a worker asks. What
    /// comes of a lease that has passed on means nothing any more.
    pub async fn cancel_by_step(
        &self,
        worker: Option<WorkerId>,
        lease: LeaseRef,
    ) -> Result<(), NotLeader> {
        let holder = self.views().look(|view| {
            let open = view.engine.lease(lease.run, lease.step)?;
            (open.fence == lease.fence).then_some(open.worker)
        });
        let Some(holder) = holder.filter(|holder| worker.is_none_or(|worker| worker == *holder))
        else {
            return Ok(());
        };
        let cancel = EngineCall::cancel(lease.run, CancelLevel::Stop);
        // The run may have ended meanwhile, which is as good.
        self.call(cancel.by(Principal::Worker { id: holder })).await.map(drop)
    }
}
