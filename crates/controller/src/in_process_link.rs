//! The in-process link: a worker in the leader's own process.

use windlass_core::engine::EngineCall;
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_link::{LinkError, LinkFuture, WorkerLink};

use super::handle::{NodeHandle, NotLeader};

impl WorkerLink for NodeHandle {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(async move { Ok(self.call(EngineCall::register(register)).await?) })
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        Box::pin(async move { Ok(Self::exchange(self, exchange).await?) })
    }

    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        Box::pin(async move { Ok(self.cancel_by_step(None, lease).await?) })
    }
}

impl From<NotLeader> for LinkError {
    fn from(_: NotLeader) -> Self {
        Self::NotLeader("this process".to_owned())
    }
}
