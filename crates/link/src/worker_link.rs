//! The worker's end of a link.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};

/// Why a message has no answer. Unless it was denied, it may have arrived; sending it again is safe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The process that was reached is not the leader.
    #[error("{0} does not lead")]
    NotLeader(String),
    /// No process was reached.
    #[error("the leader at {place} cannot be reached: {reason}")]
    Unreachable {
        /// Where the leader was expected.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// The leader rejects the message, now and later: wrong token, or another protocol version.
    #[error("the leader at {place} refuses this worker: {reason}")]
    Denied {
        /// The address of the leader.
        place: String,
        /// Why.
        reason: String,
    },
    /// The leader has ended this worker's credential.
    #[error("{0}")]
    Revoked(String),
    /// The leader has finished its work; this is the final status that it left.
    #[error("the leader has finished: {0}")]
    Finished(String),
    /// The broker has lost the leader's binding, or refuses to be used. No process can continue.
    #[error("{0}")]
    StateLost(String),
}

impl LinkError {
    /// Whether a retry cannot succeed.
    pub const fn is_final(&self) -> bool {
        match self {
            Self::Denied { .. } | Self::Revoked(_) | Self::Finished(_) | Self::StateLost(_) => true,
            Self::NotLeader(_) | Self::Unreachable { .. } => false,
        }
    }
}

/// The future of an answer; it may take long.
pub type LinkFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LinkError>> + Send + 'a>>;

/// A worker's connection to the leader.
pub trait WorkerLink: Send + Sync + fmt::Debug {
    /// Carries a registration.
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>>;

    /// Carries an exchange. The reply may take long: the leader holds it until it has news for the worker, or until a
    /// newer exchange arrives.
    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply>;

    /// Cancels the run whose step holds this lease.
    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        let _ = lease;
        Box::pin(async {
            let (place, reason) = ("this link".to_owned(), "it cannot cancel runs".to_owned());
            Err(LinkError::Denied { place, reason })
        })
    }
}
