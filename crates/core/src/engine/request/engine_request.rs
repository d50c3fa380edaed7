//! What an engine is asked, and what it answers.

use std::sync::Arc;

use crate::access::{NewToken, Principal, SecretDigest};
use crate::engine::event::{CancelLevel, Event, ReusedOutcome, RunOptions, UnplaceablePolicy};
use crate::engine::rules::WorkerContacts;
use crate::engine::takeover::store_history::StoreHistory;
use crate::engine::takeover::takeover_gap::ProvenTime;
use crate::id::{Fence, Incarnation, RunId, Term, TokenId, WorkerId};
use crate::plan::{Plan, PlanError};
use crate::session::{Exchange, ExchangeReply, RegisterReply, RegisterRequest, WorkerRefusal};
use crate::time::{Span, Time};

/// A question to the engine.
#[derive(Clone, Debug)]
pub enum EngineRequest {
    /// This node has won a term.
    Lead {
        /// Which.
        term: Term,
        /// How long leases last.
        ttl: Span,
        /// The store's generation.
        generation: u16,
        /// The worker of the leading node, for steps that are pinned to it.
        own: Option<WorkerId>,
        /// Whether grants may be missing from the journal that it has folded.
        history: StoreHistory,
        /// What it can prove of the time since the newest event that it has folded.
        proven: ProvenTime,
    },
    /// Grants of another store may still run, for this long: this leader follows one whose history it does not have.
    Embargo {
        /// The longest lease that may have been granted there.
        lasts: Span,
    },
    /// A worker joins.
    Register(RegisterRequest),
    /// A worker's round trip.
    Exchange(Exchange),
    /// A guard reports that nothing of a worker's life is left.
    GuardEnded {
        /// Whose.
        worker: WorkerId,
        /// Which life.
        incarnation: Incarnation,
        /// Every lease that it had started without reporting an outcome.
        started: Vec<Fence>,
    },
    /// A run is to be done.
    Submit(SubmitRun),
    /// A run is to end.
    Cancel {
        /// Which.
        run: RunId,
        /// How hard.
        level: CancelLevel,
    },
    /// A run has to end because deciding on it failed by a mistake of the engine's.
    Condemn {
        /// Which.
        run: RunId,
    },
    /// Nobody is expected to join for a run any more: what nobody can run need not wait.
    NoMoreWorkers {
        /// Which.
        run: RunId,
        /// What becomes of it.
        unplaceable: UnplaceablePolicy,
    },
    /// A worker is to get no more leases.
    Drain {
        /// Which.
        worker: WorkerId,
    },
    /// A lock is to be taken away from a holder that will not let go.
    ForceRelease {
        /// Which lock.
        lock: Box<str>,
        /// From which lease.
        fence: Fence,
    },
    /// A run that ended has been archived and may leave. Not sooner than a TTL after its end: until then a holder may
    /// repeat a report whose verdict it did not hear.
    Seal {
        /// Which.
        run: RunId,
    },
    /// Which workers are silent is asked: only a leader's live engine knows.
    Contacts,
    /// Time has passed.
    Tick,
    /// Somebody asks for something: what comes of it is told together with who it was.
    OnBehalfOf {
        /// Who.
        by: Principal,
        /// For what.
        request: Box<EngineRequest>,
    },
    /// A worker joins, and its own secret opens the controller to it from then on.
    Join {
        /// As it registers.
        register: RegisterRequest,
        /// What is kept of its secret.
        digest: SecretDigest,
    },
    /// A worker's credential is to end, at once. What it holds ends by time: its processes may still run.
    RevokeWorker {
        /// Whose.
        worker: WorkerId,
    },
    /// A token is to be made.
    CreateToken(NewToken),
    /// A token is to be taken back, at once.
    RevokeToken {
        /// Which.
        token: TokenId,
    },
}

impl EngineRequest {
    /// The same, asked by somebody.
    #[must_use]
    pub fn by(self, by: Principal) -> Self {
        Self::OnBehalfOf { by, request: Box::new(self) }
    }

    /// The run that it submits, if it submits one.
    pub fn submitted(&self) -> Option<RunId> {
        match self {
            Self::OnBehalfOf { request, .. } => request.submitted(),
            Self::Submit(submit) => Some(submit.run),
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

    /// The run that it names, if it is about one.
    pub(in crate::engine) fn run(&self) -> Option<RunId> {
        match self {
            Self::OnBehalfOf { request, .. } => request.run(),
            Self::Submit(submit) => Some(submit.run),
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

/// A run to be done.
#[derive(Clone, Debug)]
pub struct SubmitRun {
    /// Its id; the same id and plan again is the same run, until it is sealed: whoever takes submissions asks the
    /// archive first.
    pub run: RunId,
    /// What is to be done.
    pub plan: Arc<Plan>,
    /// How.
    pub options: RunOptions,
    /// Outcomes of an earlier run to be taken over.
    pub reused: Vec<ReusedOutcome>,
}

impl SubmitRun {
    /// A run of the plan with nothing special about it.
    pub fn new(run: RunId, plan: Arc<Plan>) -> Self {
        Self { run, plan, options: RunOptions::default(), reused: Vec::new() }
    }
}

/// What came of a request.
#[derive(Debug)]
pub struct EngineDecision {
    /// The time of its events.
    pub at: Time,
    /// What was decided, applied to this engine already; to be made durable.
    pub events: Vec<Event>,
    /// Replies to exchanges, this one's and parked ones', to be sent when the events are durable.
    pub replies: Vec<ExchangeReply>,
    /// The answer to who asked.
    pub answer: EngineAnswer,
}

/// The answer to who asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineAnswer {
    /// It is done.
    Done,
    /// For an exchange: its reply is among the replies, or it is parked and its reply comes with a later decision.
    Exchanged,
    /// The worker has joined.
    Registered(RegisterReply),
    /// The run was taken.
    Submitted {
        /// What its sender should know.
        warnings: Vec<SubmitWarning>,
    },
    /// The token was made, or was there.
    TokenCreated(TokenId),
    /// When workers were heard, and who is silent.
    Contacts(WorkerContacts),
    /// A worker was refused.
    Refused(WorkerRefusal),
    /// Something else was refused.
    Denied(RequestDenial),
}

/// Something about a run that was taken that its sender should know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitWarning {
    /// Another active run gives a lock another number of slots.
    #[error(
        "lock `{lock}`: this run says {declared} slots, {effective} are in force; the smallest number wins"
    )]
    LockSlotsDiffer {
        /// Which lock.
        lock: Box<str>,
        /// What this run says.
        declared: u32,
        /// What counts.
        effective: u32,
    },
    /// No worker known now could run some of its steps.
    #[error("no worker {lacking} (step {step} requires {placement})")]
    NoWorkerYet {
        /// What no worker has or is, as little as it is.
        lacking: String,
        /// The first of the steps.
        step: Box<str>,
        /// All that they require.
        placement: String,
    },
    /// More of them than are worth reading.
    #[error("{0} more warnings are not shown")]
    More(usize),
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestDenial {
    /// A run id that is in use for another plan.
    #[error("run {0} exists already, with another plan")]
    RunExists(RunId),
    /// No such run here.
    #[error("there is no active run {0}")]
    NoSuchRun(RunId),
    /// The run has ended.
    #[error("run {0} has ended")]
    RunEnded(RunId),
    /// The run has not ended, so it cannot be sealed.
    #[error("run {0} has not ended")]
    RunNotEnded(RunId),
    /// No such worker.
    #[error("there is no worker {0}")]
    NoSuchWorker(WorkerId),
    /// The leader's own worker shows nothing that could be ended.
    #[error("worker {0} is the leader's own: it ends with the leader")]
    OwnWorker(WorkerId),
    /// No such token.
    #[error("there is no token {0}")]
    NoSuchToken(TokenId),
    /// Another valid token has the name.
    #[error("a token `{name}` is valid already ({id}): choose another name, or revoke that one")]
    TokenExists {
        /// The name.
        name: Box<str>,
        /// Which one has it.
        id: TokenId,
    },
    /// As many tokens as there may be.
    #[error("{0} tokens are valid, as many as may be: revoke those that nobody needs")]
    TooManyTokens(usize),
    /// A token that would open nothing.
    #[error("a token needs a scope: read, submit, worker or admin")]
    NoScope,
    /// The lock is not held by that lease.
    #[error("lock `{lock}` is not held by lease {fence}")]
    LockNotHeld {
        /// Which lock.
        lock: Box<str>,
        /// Which lease.
        fence: Fence,
    },
    /// As many runs as there may be.
    #[error("{0} runs are active, as many as may be: try again when some have ended")]
    TooManyRuns(usize),
    /// More steps than there may be.
    #[error(
        "{active} steps are active and {more} more would pass the bound of {max}: try again when runs have ended"
    )]
    TooManySteps {
        /// How many there are.
        active: usize,
        /// How many would come.
        more: usize,
        /// How many there may be.
        max: usize,
    },
    /// A plan beyond the bounds on plans.
    #[error("{0}")]
    PlanTooLarge(PlanError),
    /// More bytes of plans than there may be.
    #[error(
        "the plans of active runs take {active} bytes, and {more} more would pass the bound of {max}: try again when \
         runs have ended"
    )]
    TooManyBytes {
        /// How many there are.
        active: usize,
        /// How many would come.
        more: usize,
        /// How many there may be.
        max: usize,
    },
    /// More bytes of outputs of an earlier run than a run may take over.
    #[error(
        "the outputs that it takes over from an earlier run have {bytes} bytes, and {max} are allowed: run all steps \
         again, or hand large values on as artifacts"
    )]
    TooMuchReused {
        /// How many there are.
        bytes: usize,
        /// How many there may be.
        max: usize,
    },
    /// More places at locks than there may be.
    #[error(
        "steps of active runs have {active} places at locks, and {more} more would pass the bound of {max}: try again \
         when runs have ended"
    )]
    TooManyLockUses {
        /// How many there are.
        active: usize,
        /// How many would come.
        more: usize,
        /// How many there may be.
        max: usize,
    },
    /// More labels and nodes than steps may demand.
    #[error(
        "steps of active runs demand {active} labels and nodes, and {more} more would pass the bound of {max}: try again \
         when runs have ended"
    )]
    TooManyDemands {
        /// How many there are.
        active: usize,
        /// How many would come, those of equal demands not counted.
        more: usize,
        /// How many there may be.
        max: usize,
    },
    /// A reused outcome for a node that is no step of the plan.
    #[error("step {0} of the plan cannot take over an outcome")]
    BadReuse(crate::id::StepIx),
    /// A generation of the store that has passed: its fences would be refused as old.
    #[error("generation {asked} of the store has passed; {known} is known")]
    StaleGeneration {
        /// What was asked.
        asked: u16,
        /// What is known.
        known: u16,
    },
    /// Times that contradict each other: a worker would be lost between two of its exchanges.
    #[error(
        "leases of {ttl} and exchanges every {interval} do not go together: a lease must last at least two"
    )]
    BadTiming {
        /// How long leases should last.
        ttl: Span,
        /// How often workers should exchange.
        interval: Span,
    },
    /// Leases that would outlast what locks wait for after lost history.
    #[error(
        "leases of {ttl} are too long: they last {max} at most, since locks wait that long after lost history"
    )]
    TooLongLeases {
        /// How long leases should last.
        ttl: Span,
        /// How long they may last.
        max: Span,
    },
    /// A term that is not newer than the one the journal knows.
    #[error("term {asked} is not newer than {known}")]
    StaleTerm {
        /// Who wants to lead.
        asked: Term,
        /// Who led last.
        known: Term,
    },
}
