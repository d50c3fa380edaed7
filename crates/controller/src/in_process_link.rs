//! The in-process link: a worker in the leader's own process.

use windlass_core::engine::{EngineAnswer, EngineRequest};
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
        Box::pin(async move {
            match self.ask(EngineRequest::Register(register)).await? {
                EngineAnswer::Registered(told) => Ok(Ok(told)),
                EngineAnswer::Refused(refusal) => Ok(Err(refusal)),
                other => unreachable!("a registration is accepted or refused, not {other:?}"),
            }
        })
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
