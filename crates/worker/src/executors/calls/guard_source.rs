//! Where calls find the guard.

use std::fmt;
use std::sync::Arc;

use tokio::sync::OnceCell;
use windlass_core::session::LeaseGrant;

use super::call_executor::deadline;
use crate::executor::AttemptOrders;
use crate::guard::{GuardHandle, GuardLost, InProcessStep};

/// The source of the guard for commands.
#[derive(Clone)]
pub enum GuardSource {
    /// The guard is running.
    Ready(GuardHandle),
    /// The guard is running and is informed of every step. If the worker dies, the guard reports what had begun. If a
    /// step does not end in time, the guard kills the worker.
    Watching(GuardHandle),
    /// The guard is started for the first command.
    Later(Arc<OnceCell<GuardHandle>>),
}

impl GuardSource {
    /// Returns a guard that is started for the first command.
    pub fn later() -> Self {
        Self::Later(Arc::new(OnceCell::new()))
    }

    pub(super) async fn get(&self) -> std::io::Result<GuardHandle> {
        match self {
            Self::Ready(guard) | Self::Watching(guard) => Ok(guard.clone()),
            Self::Later(cell) => cell.get_or_try_init(GuardHandle::start).await.cloned(),
        }
    }

    /// Informs the guard of a step that begins, if the guard watches steps.
    pub(super) async fn hold(
        &self,
        grant: &LeaseGrant,
        orders: &AttemptOrders,
    ) -> Option<InProcessStep> {
        let Self::Watching(guard) = self else { return None };
        match guard.hold(grant.lease.fence, deadline(grant, orders)).await {
            Ok(held) => Some(held),
            // Without a guard the worker is about to end too: nothing begins any more.
            Err(GuardLost) => std::future::pending().await,
        }
    }

    /// Returns the guard if it is running.
    pub(super) fn present(&self) -> Option<&GuardHandle> {
        match self {
            Self::Ready(guard) | Self::Watching(guard) => Some(guard),
            Self::Later(cell) => cell.get(),
        }
    }
}

impl fmt::Debug for GuardSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guards").field(&self.present().map(GuardHandle::pid)).finish()
    }
}
