//! What travels between a worker and the leader.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, WorkerId};
use crate::outcome::Outcome;
use crate::requirement::Labels;
use crate::time::Span;
use crate::word_set;

/// A lease as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaseRef {
    /// Its number, which alone identifies it.
    pub fence: Fence,
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The attempt.
    pub attempt: u16,
}

/// Where a worker's process lives, seen from the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WorkerLocality {
    /// Apart from the leader, or on a leading node that another may replace: its leases end by time.
    Apart,
    /// Set by the leader for the worker in its own process, never taken from a message.
    ///
    /// In the leader's process where no other process can take over: its leases end with the process, not by time.
    SharedFate,
}

/// How many former lives a registration can prove dead: those that died before they could register. More are left to time.
pub const PROVEN_LIVES_MAX: usize = 16;

/// What a registration proves about earlier lives of its worker.
///
/// A number that is higher than the last proves nothing: the state directory may have been copied or mounted elsewhere, a
/// machine cloned, and the earlier life may still run there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FormerLifeProof {
    /// Nothing is known. What must not run twice at a time is freed by time only.
    #[default]
    Unknown,
    /// Nothing of these lives is alive, neither a process of the worker nor of a step. Other lives are not meant: another
    /// host with a copy of the same state directory may have registered between.
    ProvenDead(Vec<Incarnation>),
}

impl FormerLifeProof {
    /// Whether it proves that nothing of this life is left.
    pub fn proves(&self, life: Incarnation) -> bool {
        match self {
            Self::Unknown => false,
            Self::ProvenDead(lives) => lives.iter().take(PROVEN_LIVES_MAX).any(|it| *it == life),
        }
    }
}

/// A worker joins, or comes back after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRequest {
    /// Its number.
    pub worker: WorkerId,
    /// Its name, unique among live workers.
    pub name: Box<str>,
    /// This life of it.
    pub incarnation: Incarnation,
    /// What it advertises.
    pub labels: Labels,
    /// How many steps it runs at a time.
    pub slots: u32,
    /// Where it lives.
    pub home: WorkerLocality,
    /// What it proves about its former lives. Nothing if it does not say.
    #[serde(default)]
    pub former: FormerLifeProof,
    /// Outcomes of its former life that it could not report; judged before that life's leases end.
    pub spooled: Vec<FinishedAttempt>,
}

/// What a worker is told when it has joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterReply {
    /// Who leads.
    pub term: Term,
    /// How long a lease lasts without renewal.
    pub ttl: Span,
    /// How often to exchange at least.
    pub interval: Span,
    /// One for each spooled outcome.
    pub verdicts: Vec<(Fence, OutcomeVerdict)>,
}

/// The one message that a worker sends: heartbeat, renewal, outcomes and the wish for more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// From whom.
    pub worker: WorkerId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Grows by one with each exchange.
    pub seq: Seq,
    /// The newest reply that it processed.
    pub seen: Seq,
    /// The newest leader that it heard of. A leader grants nothing in answer to an exchange that was meant for another:
    /// that one may have answered it, and the worker would drop a second answer.
    pub term: Term,
    /// What ended and has no verdict yet.
    pub finished: Vec<FinishedAttempt>,
    /// What it holds otherwise.
    pub in_flight: Vec<InFlightLease>,
    /// How many more leases it would take.
    pub want: u32,
    /// Whether it was told to end: it finishes what has started and takes no more.
    pub drains: bool,
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedAttempt {
    /// Which.
    pub lease: LeaseRef,
    /// How.
    pub outcome: Outcome,
    /// How long it ran, if it did.
    pub ran: Option<Span>,
}

/// A lease that a worker holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlightLease {
    /// Which.
    pub lease: LeaseRef,
    /// How far it is.
    pub phase: LeasePhase,
}

/// How far a held lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeasePhase {
    /// Waiting for a slot of the worker.
    Queued,
    /// Started.
    Started,
}

/// The right to execute a step for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseGrant {
    /// Its identity.
    pub lease: LeaseRef,
    /// The how-manieth hand-out of the attempt, from 1.
    pub delivery: u16,
    /// The first run of the chain of reruns that the run belongs to: what its idempotency keys are made from.
    pub root: RunId,
    /// The step's name.
    pub name: Box<str>,
    /// What the nodes that it reads have come to, as JSON; nothing if it reads none.
    pub values: Option<Arc<str>>,
    /// What an executor is told to do.
    pub work: Arc<str>,
    /// The longest that it may run.
    pub timeout: Option<Span>,
    /// From the polite order to stop to the other one.
    pub kill_grace: Span,
    /// Whether a worker that has lost contact must end it before the lease can pass on.
    pub stops_on_lost_contact: bool,
}

/// What became of a reported outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutcomeVerdict {
    /// It is the attempt's outcome. The same answer is given however often it is reported.
    Accepted,
    /// The lease had ended already; the outcome is history. Nothing of the attempt may go on.
    Stale,
}

/// How a step is to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// Politely, then by force after its grace.
    Term,
    /// By force at once.
    Kill,
}

/// Why a step is to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Its run was cancelled.
    RunCancelled,
    /// Another step of its run failed.
    FailFast,
    /// A newer run took its place at a lock.
    Superseded,
    /// It ran past its timeout and its worker did not end it.
    Overdue,
    /// Its lease has ended; somebody else may have the step.
    Stale,
}

impl StopMode {
    /// Its word in JSON and SQL.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Term => "term",
            Self::Kill => "kill",
        }
    }
}

word_set!(StopReason {
    RunCancelled => "run_cancelled",
    FailFast => "fail_fast",
    Superseded => "superseded",
    Overdue => "overdue",
    Stale => "stale",
});

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RunCancelled => "run cancelled",
            Self::FailFast => "fail-fast",
            Self::Superseded => "superseded",
            Self::Overdue => "overdue",
            Self::Stale => "stale",
        })
    }
}

/// An order to stop a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopOrder {
    /// Which lease.
    pub fence: Fence,
    /// How.
    pub how: StopMode,
    /// Why.
    pub why: StopReason,
}

/// The answer to one exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeReply {
    /// To whom.
    pub worker: WorkerId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// The exchange that it answers.
    pub seq: Seq,
    /// Who leads.
    pub term: Term,
    /// How long a lease lasts without renewal.
    pub ttl: Span,
    /// How often to exchange at least.
    pub interval: Span,
    /// What it says.
    pub body: Result<ExchangeReplyBody, WorkerRefusal>,
}

/// What an answer says. Every lease that the exchange listed and `stops` does not name is renewed by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeReplyBody {
    /// One for each finished attempt that the exchange listed.
    pub verdicts: Vec<(Fence, OutcomeVerdict)>,
    /// New leases and undelivered ones, by rising fence.
    pub grants: Vec<LeaseGrant>,
    /// What must stop.
    pub stops: Vec<StopOrder>,
    /// Leases wanted back if they have not started.
    pub take_back: Vec<Fence>,
}

impl ExchangeReplyBody {
    /// Whether there is nothing in it that the worker waits for.
    pub fn is_empty(&self) -> bool {
        self.verdicts.is_empty()
            && self.grants.is_empty()
            && self.stops.is_empty()
            && self.take_back.is_empty()
    }
}

/// Why a worker's message had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum WorkerRefusal {
    /// The leader does not know it, or not this life of it.
    #[error("not registered: register first")]
    NotRegistered,
    /// A newer exchange of it was seen.
    #[error("an older exchange than one seen already")]
    OldSeq,
    /// A newer life of the worker has registered.
    #[error(
        "a newer start of this worker has taken over: if its state directory was copied to another host, give each worker its own (--state)"
    )]
    Superseded,
    /// Its guard reported the end of this life.
    #[error("this start of the worker has been reported as ended")]
    Ended,
    /// Another live worker has its name.
    #[error(
        "the name `{name}` is taken by worker {by}, which is live: choose another with --name, or stop that one"
    )]
    NameTaken {
        /// The name.
        name: Box<str>,
        /// Who has it.
        by: WorkerId,
    },
    /// The cluster has as many workers as it may have.
    #[error("the cluster has {0} workers, as many as it may have")]
    TooManyWorkers(usize),
    /// A worker that could run nothing, or claims to run more than any machine.
    #[error("a worker has 1 to 10000 slots, not {0}")]
    BadSlots(u32),
    /// Its credential was ended.
    #[error(
        "it was revoked: to come back it joins as a new worker, with another --state folder and a token"
    )]
    Revoked,
    /// The secret that it shows is not the one that its number is made from.
    #[error("worker {0} has another secret: a worker's number follows from its own")]
    OtherWorker(WorkerId),
}
