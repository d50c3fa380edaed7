//! The messages between a worker and the leader.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::stop_order::StopOrder;
use crate::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, WorkerId};
use crate::outcome::Outcome;
use crate::time::Span;

/// A lease, as messages refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaseRef {
    /// The lease's number, which alone identifies it.
    pub fence: Fence,
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The attempt.
    pub attempt: u16,
}

/// The only message of a registered worker: heartbeat, renewal, outcomes and the request for more leases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The worker's id.
    pub worker: WorkerId,
    /// The worker's incarnation.
    pub incarnation: Incarnation,
    /// The number of the exchange, which grows by one.
    pub seq: Seq,
    /// The newest reply that the worker has processed.
    pub seen: Seq,
    /// The newest term that the worker knows. A leader grants nothing in answer to an exchange that was meant for
    /// another leader: that one may have answered it, and the worker would drop a second answer.
    pub term: Term,
    /// The attempts that have ended and have no verdict yet.
    pub finished: Vec<FinishedAttempt>,
    /// The other leases that the worker holds.
    pub in_flight: Vec<InFlightLease>,
    /// The number of further leases that the worker takes.
    pub want: u32,
    /// Whether the worker drains, after its first SIGTERM or Ctrl-C: it finishes the steps that have started and takes no more.
    pub drains: bool,
}

/// An attempt that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedAttempt {
    /// The lease.
    pub lease: LeaseRef,
    /// The outcome.
    pub outcome: Outcome,
    /// The time for which it ran, if it did.
    pub ran: Option<Span>,
}

/// A lease that a worker holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlightLease {
    /// The lease.
    pub lease: LeaseRef,
    /// The progress of the lease.
    pub phase: LeasePhase,
}

/// The progress of a held lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeasePhase {
    /// It waits for a slot of the worker.
    Queued,
    /// Its step has started.
    Started,
}

/// The time-bounded right to execute a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseGrant {
    /// The lease.
    pub lease: LeaseRef,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The first run of the chain of reruns that the run belongs to. Idempotency keys are derived from it.
    pub root: RunId,
    /// The step's name.
    pub name: Box<str>,
    /// The outcomes of the nodes that the step reads, as JSON; `None` if it reads none.
    pub values: Option<Arc<str>>,
    /// The work for the executor.
    pub work: Arc<str>,
    /// The time limit of the step.
    pub timeout: Option<Span>,
    /// The time between SIGTERM and SIGKILL.
    pub kill_grace: Span,
    /// Whether a worker that has lost contact must end the step before the lease can pass on.
    pub stops_on_lost_contact: bool,
}

/// The leader's verdict on a reported outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutcomeVerdict {
    /// It is the outcome of the attempt. Repeated reports get the same verdict.
    Accepted,
    /// The lease had ended before. Nothing of the attempt may go on.
    Stale,
}

/// The reply to an exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeReply {
    /// The worker's id.
    pub worker: WorkerId,
    /// The worker's incarnation.
    pub incarnation: Incarnation,
    /// The exchange that it answers.
    pub seq: Seq,
    /// The leader's term.
    pub term: Term,
    /// The lease duration.
    pub ttl: Span,
    /// The longest interval between two exchanges.
    pub interval: Span,
    /// The content, or the refusal.
    pub body: Result<ExchangeReplyBody, WorkerRefusal>,
}

/// The content of a reply. It renews every lease that the exchange listed and that `stops` does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeReplyBody {
    /// A verdict for each finished attempt that the exchange listed.
    pub verdicts: Vec<(Fence, OutcomeVerdict)>,
    /// New leases and undelivered ones, by rising fence.
    pub grants: Vec<LeaseGrant>,
    /// The steps that must stop.
    pub stops: Vec<StopOrder>,
    /// Leases that the leader takes back if they have not started.
    pub take_back: Vec<Fence>,
}

impl ExchangeReplyBody {
    /// Whether it contains nothing that the worker waits for.
    pub fn is_empty(&self) -> bool {
        self.verdicts.is_empty()
            && self.grants.is_empty()
            && self.stops.is_empty()
            && self.take_back.is_empty()
    }
}

/// The reason for which a worker's message had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum WorkerRefusal {
    /// The worker or its incarnation is unknown to the leader.
    #[error("not registered: register first")]
    NotRegistered,
    /// The leader has seen a newer exchange.
    #[error("an older exchange than one seen already")]
    OldSeq,
    /// A newer incarnation of the worker has registered.
    #[error(
        "a newer start of this worker has taken over: if its state directory was copied to another host, give each worker its own (--state)"
    )]
    Superseded,
    /// The worker's guard reported the end of this incarnation.
    #[error("this start of the worker has been reported as ended")]
    Ended,
    /// Another live worker has its name.
    #[error(
        "the name `{name}` is taken by worker {by}, which is live: choose another with --name, or stop that one"
    )]
    NameTaken {
        /// The name.
        name: Box<str>,
        /// The worker that has the name.
        by: WorkerId,
    },
    /// The cluster has the largest allowed number of workers.
    #[error("the cluster has {0} workers, as many as it may have")]
    TooManyWorkers(usize),
    /// The number of slots is out of range.
    #[error("a worker has 1 to 10000 slots, not {0}")]
    BadSlots(u32),
    /// The worker's credential was revoked.
    #[error(
        "it was revoked: to come back it joins as a new worker, with another --state folder and a token"
    )]
    Revoked,
    /// The secret does not match the worker's id, which is derived from the worker's secret.
    #[error("worker {0} has another secret: a worker's number follows from its own")]
    OtherWorker(WorkerId),
}
