//! What letters say: a worker's questions and the leader's answers.

use serde::{Deserialize, Serialize};
use windlass_core::id::{Fence, Incarnation};
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_store::logs::{LogId, LogPart};

use crate::output::{LogChunk, LogChunksReply};

/// What a worker, or its guard, asks. It is signed ([`SignedMailboxRequest`](super::SignedAsk)), which tells the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MailboxRequest {
    /// Which cluster is this?
    Hello,
    /// It registers.
    Join(Box<RegisterRequest>),
    /// A round trip of its session.
    Exchange(Exchange),
    /// Output of its steps.
    Logs(Vec<LogChunk>),
    /// Nothing of a worker's life is left.
    Ended {
        /// Which life.
        incarnation: Incarnation,
        /// Every lease that was started and has no verdict.
        started: Vec<Fence>,
    },
    /// Whoever watches a worker wants the run to end that all are here for.
    Cancel {
        /// At once, and not politely.
        kill: bool,
    },
    /// Bytes of a large result.
    Fetch {
        /// Which.
        value: LogId,
        /// From where.
        from: u64,
    },
    /// A step has its run end, by the right of this lease.
    CancelRun(LeaseRef),
}

/// What a leader answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MailboxReply {
    /// Which cluster this is.
    Hello {
        /// Its id.
        cluster: String,
        /// The version of the windlass that leads.
        version: String,
    },
    /// What came of a registration.
    Joined(Result<RegisterReply, WorkerRefusal>),
    /// The reply to an exchange.
    Replied(Box<ExchangeReply>),
    /// What became of output.
    Taken(LogChunksReply),
    /// It was heard.
    Heard,
    /// It does not lead at the moment, or could not write: the question may be asked again.
    NotNow,
    /// The question was meant for an earlier leader: the envelope says which one is there now.
    Missent,
    /// Everything is over.
    Over(String),
    /// Bytes of a large result.
    Fetched(LogPart),
    /// The sender may not ask this, now or later: why.
    Denied(String),
}
