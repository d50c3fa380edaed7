//! The in-process link: a worker in the leader's own process.

use windlass_core::engine::{Answer, Request};
use windlass_core::session::{Exchange, LeaseRef, Refusal, Register, Registered, Reply};

use super::handle::{Handle, NotLeader};
use crate::link::{Carried, Link, LinkError};

impl Link for Handle {
    fn register(&self, register: Register) -> Carried<'_, Result<Registered, Refusal>> {
        Box::pin(async move {
            match self.ask(Request::Register(register)).await? {
                Answer::Registered(told) => Ok(Ok(told)),
                Answer::Refused(refusal) => Ok(Err(refusal)),
                other => unreachable!("a registration is accepted or refused, not {other:?}"),
            }
        })
    }

    fn exchange(&self, exchange: Exchange) -> Carried<'_, Reply> {
        Box::pin(async move { Ok(Self::exchange(self, exchange).await?) })
    }

    fn cancel_run(&self, lease: LeaseRef) -> Carried<'_, ()> {
        Box::pin(async move { Ok(self.cancel_by_step(None, lease).await?) })
    }
}

impl From<NotLeader> for LinkError {
    fn from(_: NotLeader) -> Self {
        Self::NotLeader("this process".to_owned())
    }
}
