//! The content of messages: a worker's requests and the leader's responses.

use serde::{Deserialize, Serialize};
use windlass_core::id::{Fence, Incarnation};
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_store::logs::{LogId, LogPart};

use crate::output::{LogChunk, LogChunksReply};

/// A request of a worker or of its guard. It is signed ([`SignedMailboxRequest`](super::SignedMailboxRequest)), which
/// identifies the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MailboxRequest {
    /// Asks for the cluster's description.
    Hello,
    /// Registers the worker.
    Join(Box<RegisterRequest>),
    /// An exchange of its session.
    Exchange(Exchange),
    /// Output of its steps.
    Logs(Vec<LogChunk>),
    /// Nothing of a worker's incarnation is left.
    Ended {
        /// The incarnation.
        incarnation: Incarnation,
        /// Every lease that was started and has no verdict.
        started: Vec<Fence>,
    },
    /// Asks to end the run that all these workers serve.
    Cancel {
        /// Whether to kill its steps without a grace period.
        kill: bool,
    },
    /// Asks for bytes of a large result.
    Fetch {
        /// The result.
        value: LogId,
        /// The first byte.
        from: u64,
    },
    /// A step cancels its run, as the holder of this lease.
    CancelRun(LeaseRef),
}

/// A response of the leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MailboxReply {
    /// The cluster's description.
    Hello {
        /// The cluster's id.
        cluster: String,
        /// The version of the leader's program.
        version: String,
    },
    /// The answer to a registration.
    Joined(Result<RegisterReply, WorkerRefusal>),
    /// The reply to an exchange.
    Replied(Box<ExchangeReply>),
    /// What became of output.
    Taken(LogChunksReply),
    /// The notice was received.
    Heard,
    /// The process does not lead at the moment, or could not write: the request may be repeated.
    NotNow,
    /// The request was meant for an earlier leader: the envelope names the current one.
    Missent,
    /// The run is over.
    Over(String),
    /// Bytes of a large result.
    Fetched(LogPart),
    /// The sender may not send this request, now or later: the reason.
    Denied(String),
}
