//! A worker's end of a link.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};

/// Why a message has no answer. Unless it was denied, whether it arrived is not known, and it may be sent again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Whoever was reached does not lead.
    #[error("{0} does not lead")]
    NotLeader(String),
    /// Nobody was reached.
    #[error("the leader at {place} cannot be reached: {reason}")]
    Unreachable {
        /// Where it should be.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// The leader does not want to hear it, now or later: a wrong token, another version of the protocol.
    #[error("the leader at {place} refuses this worker: {reason}")]
    Denied {
        /// Who.
        place: String,
        /// Why.
        reason: String,
    },
    /// The leader has ended this worker's credential.
    #[error("{0}")]
    Revoked(String),
    /// Everything that there was to do is done: what the leader left behind.
    #[error("it is over: {0}")]
    Finished(String),
    /// What carries messages has forgotten the leader, or will not be used any more: nobody can go on.
    #[error("{0}")]
    StateLost(String),
}

impl LinkError {
    /// Whether nothing will come of trying again.
    pub const fn is_final(&self) -> bool {
        match self {
            Self::Denied { .. } | Self::Revoked(_) | Self::Finished(_) | Self::StateLost(_) => true,
            Self::NotLeader(_) | Self::Unreachable { .. } => false,
        }
    }
}

/// An answer that may take its time.
pub type LinkFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LinkError>> + Send + 'a>>;

/// A worker's way to the leader.
pub trait WorkerLink: Send + Sync + fmt::Debug {
    /// Carries a registration.
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>>;

    /// Carries an exchange. Its reply may be long in coming: the leader keeps it until it has something to say, or until
    /// a newer one comes.
    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply>;

    /// Has the run end whose step holds this lease.
    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        let _ = lease;
        Box::pin(async {
            let (place, reason) = ("this link".to_owned(), "it carries no such wish".to_owned());
            Err(LinkError::Denied { place, reason })
        })
    }
}
