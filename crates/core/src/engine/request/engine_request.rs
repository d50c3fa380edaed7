//! The requests to the engine, its decisions, answers and denials.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::access::{NewToken, Principal, SecretDigest};
use crate::engine::event::{CancelLevel, Event, ReusedOutcome, RunOptions, UnplaceablePolicy};
use crate::engine::request::ResumeRun;
use crate::engine::rules::WorkerContacts;
use crate::engine::takeover::store_history::StoreHistory;
use crate::engine::takeover::takeover_gap::ProvenTime;
use crate::id::{Fence, Incarnation, RunId, Term, TokenId, WorkerId};
use crate::plan::{Plan, PlanError};
use crate::session::{Exchange, ExchangeReply, RegisterReply, RegisterRequest, WorkerRefusal};
use crate::time::{Span, Time};

/// A request to the engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EngineRequest {
    /// This node has won a term.
    Lead {
        /// The term that was won.
        term: Term,
        /// The lease duration.
        ttl: Span,
        /// The store's generation.
        generation: u16,
        /// The worker of the leading node, for steps that are pinned to it.
        own: Option<WorkerId>,
        /// Whether grants may be missing from the journal that the engine has folded.
        history: StoreHistory,
        /// The time since the newest event that the node can prove.
        proven: ProvenTime,
    },
    /// Grants of another store may still run: this leader follows a leader whose history it does not have.
    Embargo {
        /// The longest lease that may have been granted there.
        lasts: Span,
    },
    /// The leader's own worker registers.
    Register(RegisterRequest),
    /// A worker exchanges messages with the leader.
    Exchange(Exchange),
    /// A guard reports that no process of a worker's incarnation is left.
    GuardEnded {
        /// The worker.
        worker: WorkerId,
        /// The incarnation that ended.
        incarnation: Incarnation,
        /// Every lease that the incarnation had started and whose outcome it has not reported.
        started: Vec<Fence>,
    },
    /// A client submits a run.
    Submit(SubmitRun),
    /// A client resumes an interrupted run.
    Resume(ResumeRun),
    /// A client cancels a run.
    Cancel {
        /// The run.
        run: RunId,
        /// Whether running steps are stopped or killed.
        level: CancelLevel,
    },
    /// A run must end because the engine panicked while it decided on the run.
    Condemn {
        /// The run.
        run: RunId,
    },
    /// No more workers will join for a run: a step that matches no worker need not wait.
    NoMoreWorkers {
        /// The run.
        run: RunId,
        /// What happens to such a step.
        unplaceable: UnplaceablePolicy,
    },
    /// An operator drains a worker: it gets no more leases.
    Drain {
        /// The worker.
        worker: WorkerId,
    },
    /// An operator takes a lock from the lease that holds it.
    ForceRelease {
        /// The name of the lock.
        lock: Box<str>,
        /// The lease that holds it.
        fence: Fence,
    },
    /// A run that ended or is interrupted has been archived and may leave the engine. At least one lease duration must have passed since
    /// its end: a worker may repeat a report until it has received the verdict.
    Seal {
        /// The run.
        run: RunId,
    },
    /// A reader needs the last contact of each worker, which only the leader's live engine knows.
    Contacts,
    /// Time has passed.
    Tick,
    /// A principal makes a request; the audit trail records the author of the change.
    OnBehalfOf {
        /// The principal.
        by: Principal,
        /// The request.
        request: Box<EngineRequest>,
    },
    /// A worker registers, and authenticates itself with its own secret from then on.
    Join {
        /// The registration.
        register: RegisterRequest,
        /// The digest of the secret.
        digest: SecretDigest,
    },
    /// An operator revokes a worker's credential. The leases of the worker end by time: its processes may still run.
    RevokeWorker {
        /// The worker.
        worker: WorkerId,
    },
    /// An operator creates a token.
    CreateToken(NewToken),
    /// An operator revokes a token.
    RevokeToken {
        /// The token.
        token: TokenId,
    },
}

impl EngineRequest {
    /// The same request on behalf of a principal.
    #[must_use]
    pub fn by(self, by: Principal) -> Self {
        Self::OnBehalfOf { by, request: Box::new(self) }
    }

    /// The run that the request submits or resumes, if it does.
    pub fn submitted(&self) -> Option<RunId> {
        match self {
            Self::OnBehalfOf { request, .. } => request.submitted(),
            Self::Submit(submit) => Some(submit.run),
            Self::Resume(resume) => Some(resume.run),
            Self::Cancel { .. }
            | Self::Condemn { .. }
            | Self::NoMoreWorkers { .. }
            | Self::Seal { .. }
            | Self::Lead { .. }
            | Self::Embargo { .. }
            | Self::Register(_)
            | Self::Join { .. }
            | Self::Exchange(_)
            | Self::GuardEnded { .. }
            | Self::Drain { .. }
            | Self::ForceRelease { .. }
            | Self::RevokeWorker { .. }
            | Self::CreateToken(_)
            | Self::RevokeToken { .. }
            | Self::Contacts
            | Self::Tick => None,
        }
    }

    /// The run that the request is about, if it is about one.
    pub(in crate::engine) fn run(&self) -> Option<RunId> {
        match self {
            Self::OnBehalfOf { request, .. } => request.run(),
            Self::Submit(submit) => Some(submit.run),
            Self::Resume(resume) => Some(resume.run),
            Self::Cancel { run, .. }
            | Self::Condemn { run }
            | Self::NoMoreWorkers { run, .. }
            | Self::Seal { run } => Some(*run),
            Self::Lead { .. }
            | Self::Embargo { .. }
            | Self::Register(_)
            | Self::Exchange(_)
            | Self::GuardEnded { .. }
            | Self::Drain { .. }
            | Self::ForceRelease { .. }
            | Self::Join { .. }
            | Self::RevokeWorker { .. }
            | Self::CreateToken(_)
            | Self::RevokeToken { .. }
            | Self::Contacts
            | Self::Tick => None,
        }
    }
}

/// A run to submit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SubmitRun {
    /// The run's id. The same id with the same plan is the same run until the run is sealed; a controller therefore looks
    /// into the archive before it submits.
    pub run: RunId,
    /// The plan to execute.
    pub plan: Arc<Plan>,
    /// The options of the run.
    pub options: RunOptions,
    /// Outcomes that are reused from an earlier run.
    pub reused: Vec<ReusedOutcome>,
}

impl SubmitRun {
    /// A run of the plan with default options.
    pub fn new(run: RunId, plan: Arc<Plan>) -> Self {
        Self { run, plan, options: RunOptions::default(), reused: Vec::new() }
    }
}

/// The result of a request.
#[derive(Debug)]
pub struct EngineDecision {
    /// The time of the events.
    pub at: Time,
    /// The decided events. They are already applied to this engine, and must be made durable.
    pub events: Vec<Event>,
    /// Replies to this exchange and to parked ones, to be sent when the events are durable.
    pub replies: Vec<ExchangeReply>,
    /// The answer to the request.
    pub answer: EngineAnswer,
}

/// The answer to a request. [`EngineCall`](super::EngineCall) narrows it to the answers that one request can get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineAnswer {
    /// The request took effect, or had taken effect before.
    Done,
    /// The exchange was processed: its reply is among the replies, or comes with a later decision because it is parked.
    Exchanged,
    /// The worker is registered.
    Registered(RegisterReply),
    /// The run was accepted.
    Submitted {
        /// Warnings for the client.
        warnings: Vec<SubmitWarning>,
    },
    /// The token was created, or existed before.
    TokenCreated(TokenId),
    /// The last contact of each worker.
    Contacts(WorkerContacts),
    /// The worker was refused.
    Refused(WorkerRefusal),
    /// The request was denied.
    Denied(RequestDenial),
}

/// A warning about a run that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum SubmitWarning {
    /// Another active run declares another number of slots for a lock.
    #[error(
        "lock `{lock}`: this run declares {declared} slots, {effective} are in force; the smallest number counts"
    )]
    LockSlotsDiffer {
        /// The name of the lock.
        lock: Box<str>,
        /// The number that this run declares.
        declared: u32,
        /// The number in force.
        effective: u32,
    },
    /// No known worker matches some of the steps.
    #[error("no worker {lacking} (step {step} requires {placement})")]
    NoWorkerYet {
        /// The smallest requirement that no worker meets, as a phrase.
        lacking: String,
        /// The first of these steps.
        step: Box<str>,
        /// The complete requirement.
        placement: String,
    },
    /// The number of warnings that are left out.
    #[error("{0} more warnings are not shown")]
    More(usize),
}

/// Why a request was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RequestDenial {
    /// The run id is in use for another plan.
    #[error("run {0} exists already, with another plan")]
    RunExists(RunId),
    /// The engine has no such run.
    #[error("there is no active run {0}")]
    NoSuchRun(RunId),
    /// The run has ended.
    #[error("run {0} has ended")]
    RunEnded(RunId),
    /// The run has not ended and cannot be sealed.
    #[error("run {0} has not ended")]
    RunNotEnded(RunId),
    /// The run waits to be resumed.
    #[error("run {0} is interrupted: resume it instead of submitting it again")]
    RunInterrupted(RunId),
    /// The run is not interrupted, so it cannot be resumed.
    #[error("run {0} is not interrupted, so it cannot be resumed")]
    RunNotInterrupted(RunId),
    /// The progress is that of an earlier interruption, or does not fit the plan.
    #[error(
        "the progress of run {0} does not fit its last interruption: read the events of the run again"
    )]
    BadProgress(RunId),
    /// The owner of the run has not registered, or has ended.
    #[error(
        "worker {worker} ({incarnation}) has not registered, or has ended: it cannot own a run"
    )]
    OwnerGone {
        /// The owner's worker.
        worker: WorkerId,
        /// Its incarnation.
        incarnation: Incarnation,
    },
    /// The engine has no such worker.
    #[error("there is no worker {0}")]
    NoSuchWorker(WorkerId),
    /// The worker is the leader's own and has no credential to revoke.
    #[error("worker {0} is the leader's own: it ends with the leader")]
    OwnWorker(WorkerId),
    /// The engine has no such token.
    #[error("there is no token {0}")]
    NoSuchToken(TokenId),
    /// Another valid token has the name.
    #[error("a token `{name}` is valid already ({id}): choose another name, or revoke that one")]
    TokenExists {
        /// The name.
        name: Box<str>,
        /// The token with this name.
        id: TokenId,
    },
    /// The limit on valid tokens is reached.
    #[error("{0} tokens are valid, which is the limit: revoke one that is not needed")]
    TooManyTokens(usize),
    /// The token has no scope.
    #[error("a token needs a scope: read, submit, worker or admin")]
    NoScope,
    /// The lease does not hold the lock.
    #[error("lock `{lock}` is not held by lease {fence}")]
    LockNotHeld {
        /// The name of the lock.
        lock: Box<str>,
        /// The fence of the lease.
        fence: Fence,
    },
    /// The limit on active runs is reached.
    #[error("{0} runs are active, which is the limit: try again when some have ended")]
    TooManyRuns(usize),
    /// The run would exceed the limit on active steps.
    #[error(
        "{active} steps are active and {more} more would exceed the limit of {max}: try again when runs have ended"
    )]
    TooManySteps {
        /// The current amount.
        active: usize,
        /// The amount that the run adds.
        more: usize,
        /// The limit.
        max: usize,
    },
    /// The plan exceeds a limit on plans.
    #[error("{0}")]
    PlanTooLarge(PlanError),
    /// The run would exceed the limit on the size of all active plans.
    #[error(
        "the plans of active runs take {active} bytes, and {more} more would exceed the limit of {max}: try again when \
         runs have ended"
    )]
    TooManyBytes {
        /// The current amount.
        active: usize,
        /// The amount that the run adds.
        more: usize,
        /// The limit.
        max: usize,
    },
    /// The reused outputs exceed the limit.
    #[error(
        "the outputs reused from an earlier run have {bytes} bytes, and {max} are allowed: run all steps again, or \
         pass large values as artifacts"
    )]
    TooMuchReused {
        /// The current amount.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The run would exceed the limit on uses of locks.
    #[error(
        "steps of active runs use locks {active} times, and {more} more would exceed the limit of {max}: try again \
         when runs have ended"
    )]
    TooManyLockUses {
        /// The current amount.
        active: usize,
        /// The amount that the run adds.
        more: usize,
        /// The limit.
        max: usize,
    },
    /// The run would exceed the limit on demanded labels and nodes.
    #[error(
        "steps of active runs require {active} labels and nodes, and {more} more would exceed the limit of {max}: try again \
         when runs have ended"
    )]
    TooManyDemands {
        /// The current amount.
        active: usize,
        /// The amount that the run adds; steps with equal demands count once.
        more: usize,
        /// The limit.
        max: usize,
    },
    /// A reused outcome names a node that is not a step of the plan, or names a step twice.
    #[error("step {0} of the plan cannot reuse an outcome")]
    BadReuse(crate::id::StepIx),
    /// The generation of the store has passed: its fences would be refused as old.
    #[error("generation {asked} of the store has passed; {known} is known")]
    StaleGeneration {
        /// The requested generation.
        asked: u16,
        /// The newest known generation.
        known: u16,
    },
    /// The durations contradict each other: a worker would be lost between two of its exchanges.
    #[error(
        "leases of {ttl} and exchanges every {interval} contradict each other: a lease must last at least two intervals"
    )]
    BadTiming {
        /// The requested lease duration.
        ttl: Span,
        /// The requested interval of exchanges.
        interval: Span,
    },
    /// The leases would outlast the embargo after lost history.
    #[error(
        "leases of {ttl} are too long: the maximum is {max}, because locks wait that long after lost history"
    )]
    TooLongLeases {
        /// The requested lease duration.
        ttl: Span,
        /// The longest lease duration.
        max: Span,
    },
    /// The term is not newer than the newest term of the journal.
    #[error("term {asked} is not newer than {known}")]
    StaleTerm {
        /// The requested term.
        asked: Term,
        /// The newest term of the journal.
        known: Term,
    },
}
