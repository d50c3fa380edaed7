//! Events: what the engine decided, in the past tense, once.
//!
//! An event carries the decision, not the grounds for it: replaying it needs no rule that a later version could change.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::access::{AuditAction, AuditSubject, NewToken, Principal, SecretDigest};
use crate::engine::takeover::takeover_gap::ProvenTime;
use crate::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, TokenId, WorkerId};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{Outcome, RunStatus, StepOutput, StepStatus};
use crate::plan::Plan;
use crate::requirement::Labels;
use crate::session::{StopReason, WorkerLocality};
use crate::time::{Span, Time};
use crate::word_set;

/// A fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A leader took over. Leases that it did not confirm end one TTL later.
    Led {
        /// Its term.
        term: Term,
        /// How long leases last from now on.
        ttl: Span,
        /// The store's generation, in the upper bits of fences.
        generation: u16,
        /// The worker of the leading node, for steps that are pinned to it.
        own: Option<WorkerId>,
        /// Until when no step is granted that must not run beside a lost grant of itself or of its locks; `None` where
        /// the history is proven to be unbroken.
        embargo: Option<Time>,
        /// What its leader could prove of the time since the last event. The rest of it moves ends that real time brings.
        proven: ProvenTime,
    },
    /// A worker joined, or came back with a new incarnation.
    WorkerRegistered {
        /// Which.
        worker: WorkerId,
        /// Its name.
        name: Box<str>,
        /// This life of it.
        incarnation: Incarnation,
        /// What it advertises.
        labels: Labels,
        /// Steps at a time.
        slots: u32,
        /// Where it lives.
        home: WorkerLocality,
    },
    /// Nothing was heard of a worker for a TTL.
    WorkerLost {
        /// Which.
        worker: WorkerId,
    },
    /// A lost worker was heard again, in the same life.
    WorkerReturned {
        /// Which.
        worker: WorkerId,
    },
    /// A worker gets no more leases.
    WorkerDrained {
        /// Which.
        worker: WorkerId,
    },
    /// A worker's guard reported that nothing of this life is left.
    WorkerEnded {
        /// Which.
        worker: WorkerId,
        /// Which life of it.
        incarnation: Incarnation,
    },
    /// A worker lost long ago is no longer kept in mind.
    WorkerForgotten {
        /// Which.
        worker: WorkerId,
    },
    /// So many workers vanished at once that they are given up one by one.
    Braked {
        /// How many are overdue.
        late: u32,
        /// Of how many.
        of: u32,
    },
    /// A run began.
    RunSubmitted {
        /// Its id.
        run: RunId,
        /// What is to be done.
        plan: Arc<Plan>,
        /// How.
        options: RunOptions,
        /// Outcomes taken from an earlier run.
        reused: Vec<ReusedOutcome>,
    },
    /// A run was told to end.
    RunCancelled {
        /// Which.
        run: RunId,
        /// How hard.
        level: CancelLevel,
        /// Why.
        reason: CancelReason,
    },
    /// Every step of a run has ended.
    RunEnded {
        /// Which.
        run: RunId,
        /// How.
        status: RunStatus,
    },
    /// A run that ended left the engine; its history is in the archive.
    RunSealed {
        /// Which.
        run: RunId,
    },
    /// A worker got a lease.
    Granted {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The how-manieth attempt, from 1.
        attempt: u16,
        /// The how-manieth hand-out of this attempt, from 1.
        delivery: u16,
        /// To whom.
        worker: WorkerId,
        /// The lease's number.
        fence: Fence,
        /// The exchange that it answered.
        seq: Seq,
        /// When it ends unless it is renewed; `None` if it does not end by time.
        expires: Option<Time>,
    },
    /// A lease of an earlier term was presented to this leader and goes on.
    Confirmed {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The lease's number.
        fence: Fence,
    },
    /// A worker said that it had started the step.
    Started {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The lease's number.
        fence: Fence,
    },
    /// One lease's step is to be stopped, for a reason of its own.
    StopOrdered {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The lease's number.
        fence: Fence,
        /// Why.
        why: StopReason,
    },
    /// A lease ended, and its locks were freed. One that is [`LeaseEndKind::Late`] had ended before: its outcome counts after all.
    Ended {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The lease's number.
        fence: Fence,
        /// How the attempt ended.
        outcome: Outcome,
        /// What follows for the step.
        next: StepFollowUp,
        /// Whether the holder reported it; if not, a report that comes later is late.
        ended: LeaseEndKind,
    },
    /// A step's wait before its next attempt is over.
    BackoffEnded {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
    },
    /// The condition of a step whose needs have ended held.
    ConditionHeld {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
    },
    /// A step ended without a lease.
    StepSettled {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// How and why.
        settled: StepSettlement,
    },
    /// An outcome came after its lease had ended, and does not count; kept as history.
    LateOutcome {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The lease's number.
        fence: Fence,
        /// What was reported.
        outcome: Outcome,
    },
    /// An operator took a lock away from its holder.
    LockForced {
        /// Which lock.
        lock: Box<str>,
        /// From which lease.
        fence: Fence,
    },
    /// A worker was let in: its own secret opens the controller to it.
    WorkerEnrolled {
        /// Which.
        worker: WorkerId,
        /// What is kept of its secret.
        digest: SecretDigest,
        /// Who let it in.
        by: Principal,
    },
    /// A worker's credential was ended.
    WorkerRevoked {
        /// Whose.
        worker: WorkerId,
    },
    /// A token was made.
    TokenCreated {
        /// Which.
        id: TokenId,
        /// What it is, without the token itself.
        token: NewToken,
    },
    /// A token was taken back.
    TokenRevoked {
        /// Which.
        id: TokenId,
    },
    /// What came just before was done on somebody's word.
    Acted {
        /// Whose.
        by: Principal,
        /// What was done.
        act: AuditAction,
        /// To what.
        about: AuditSubject,
    },
    /// What a step does is done once under a key, and it is this step's to do: it is ready.
    KeyTaken {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The key.
        key: Box<str>,
    },
    /// Another step is at the key: this one waits for what comes of it.
    KeyAwaited {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The key.
        key: Box<str>,
        /// The run of the step that is before it.
        by: RunId,
    },
    /// What a step does was done under its key before: it ended with what came of that.
    KeyRecalled {
        /// Of which run.
        run: RunId,
        /// Which step.
        step: StepIx,
        /// The key.
        key: Box<str>,
        /// Who did it, and when.
        origin: IdempotencyOrigin,
        /// What it hands on.
        output: StepOutput,
    },
}

impl Event {
    /// What a takeover of a store that was led under that term proves of the time since the last event; `None` if it is none.
    pub(in crate::engine) fn takes_over_from(&self, last: Term) -> Option<ProvenTime> {
        let Self::Led { term, proven, .. } = self else { return None };
        (*term != last).then_some(*proven)
    }

    /// The run that it is about; `None` for what concerns the whole cluster.
    pub const fn run(&self) -> Option<RunId> {
        match self {
            Self::Acted { about, .. } => about.run(),
            Self::RunSubmitted { run, .. }
            | Self::RunCancelled { run, .. }
            | Self::RunEnded { run, .. }
            | Self::RunSealed { run }
            | Self::Granted { run, .. }
            | Self::Confirmed { run, .. }
            | Self::Started { run, .. }
            | Self::StopOrdered { run, .. }
            | Self::Ended { run, .. }
            | Self::BackoffEnded { run, .. }
            | Self::ConditionHeld { run, .. }
            | Self::StepSettled { run, .. }
            | Self::LateOutcome { run, .. }
            | Self::KeyTaken { run, .. }
            | Self::KeyAwaited { run, .. }
            | Self::KeyRecalled { run, .. } => Some(*run),
            Self::Led { .. }
            | Self::WorkerRegistered { .. }
            | Self::WorkerLost { .. }
            | Self::WorkerReturned { .. }
            | Self::WorkerDrained { .. }
            | Self::WorkerEnded { .. }
            | Self::WorkerForgotten { .. }
            | Self::Braked { .. }
            | Self::LockForced { .. }
            | Self::WorkerEnrolled { .. }
            | Self::WorkerRevoked { .. }
            | Self::TokenCreated { .. }
            | Self::TokenRevoked { .. } => None,
        }
    }

    /// Whether who may ask is not the same afterwards.
    pub const fn changes_access(&self) -> bool {
        matches!(
            self,
            Self::TokenCreated { .. } | Self::TokenRevoked { .. } | Self::WorkerRevoked { .. }
        )
    }
}

/// How a run is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOptions {
    /// The first run of a chain of reruns; idempotency keys are made from it. `None`: this one.
    pub root: Option<RunId>,
    /// Whether independent steps go on after a failure.
    pub keep_going: bool,
    /// What becomes of a step that no worker could run.
    pub unplaceable: UnplaceablePolicy,
    /// The longest that the run may take.
    pub timeout: Option<Span>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { root: None, keep_going: false, unplaceable: UnplaceablePolicy::Wait, timeout: None }
    }
}

/// What becomes of a step that no worker could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnplaceablePolicy {
    /// It waits for one as long as it says (a cluster).
    Wait,
    /// It is skipped at once (one machine).
    Skip,
    /// It fails at once (one machine, `--no-skip`).
    Fail,
}

/// A step whose outcome is taken from an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedOutcome {
    /// Which step.
    pub step: StepIx,
    /// From which run.
    pub from: RunId,
    /// What it hands on.
    pub output: StepOutput,
}

/// How hard a run is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CancelLevel {
    /// Running steps are stopped politely, `always()` steps still run.
    Stop,
    /// Everything is killed and nothing runs any more.
    Kill,
}

word_set!(CancelLevel { Stop => "stop", Kill => "kill" });

/// Why a run was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Somebody asked for it.
    Asked,
    /// Its deadline passed.
    Deadline,
    /// Deciding on it failed by a mistake of the engine's: it ends so that the others go on.
    Defect,
    /// An operator condemned it, because the store could not be folded with it.
    Condemned,
}

word_set!(CancelReason {
    Asked => "asked",
    Deadline => "deadline",
    Defect => "defect",
    Condemned => "condemned",
});

/// Whether a lease ended by its holder's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaseEndKind {
    /// Its holder reported the outcome, and did not say how long it ran.
    Reported,
    /// It expired, was forgotten, or its holder's life ended.
    GivenUp,
    /// Its holder reported the outcome, and for how long it ran.
    Ran(Span),
    /// It had been given up before its holder reported the outcome, and the step was not handed out again in between.
    Late {
        /// For how long it ran, if its holder said so.
        ran: Option<Span>,
    },
}

impl LeaseEndKind {
    /// Whether its holder said how it ended.
    pub const fn is_reported(self) -> bool {
        match self {
            Self::Reported | Self::Ran(_) | Self::Late { .. } => true,
            Self::GivenUp => false,
        }
    }

    /// Whether the lease had been given up before.
    pub const fn is_late(self) -> bool {
        matches!(self, Self::Late { .. })
    }

    /// For how long it ran, if its holder said so.
    pub const fn ran(self) -> Option<Span> {
        match self {
            Self::Ran(ran) => Some(ran),
            Self::Late { ran } => ran,
            Self::Reported | Self::GivenUp => None,
        }
    }
}

/// What follows for a step when its lease has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepFollowUp {
    /// The step is done, with this status.
    Done(StepStatus),
    /// Another attempt, not before this time.
    Retry {
        /// When.
        at: Time,
        /// Whom to avoid if somebody else can.
        avoid: Option<WorkerId>,
    },
    /// The same attempt is handed out again.
    Again {
        /// Whether the hand-out that ended counts against the bound.
        charged: bool,
    },
}

/// How a step ended without a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepSettlement {
    /// Its condition asked for a failure and there was none.
    SkippedByCondition,
    /// Its condition on values did not hold.
    SkippedByValues {
        /// What was asked, with the values.
        why: Box<str>,
    },
    /// Its condition on values could not be decided.
    FailedCondition {
        /// Why.
        why: Box<str>,
    },
    /// Nobody here can run it.
    SkippedUnplaceable,
    /// A need failed.
    Blocked {
        /// The step at the root of it.
        cause: StepIx,
    },
    /// A need could not run: no worker matches its requirements.
    Withheld {
        /// The step that no worker could run.
        cause: StepIx,
    },
    /// Its run was cancelled before it began.
    CancelledWithRun,
    /// Another step of its run failed before it began.
    CancelledByFailure {
        /// Which.
        cause: StepIx,
    },
    /// A newer run took its place at a lock.
    Superseded {
        /// Which run.
        by: RunId,
    },
    /// No worker that could run it came in time.
    FailedNoWorker,
    /// Its locks were not free in time.
    FailedNoLock,
    /// What it reads is more than a worker can be handed.
    FailedTooLarge {
        /// Bytes that it would be handed.
        bytes: u64,
    },
    /// The key under which it is done once could not be made.
    FailedKey {
        /// Why.
        why: Box<str>,
    },
    /// Whoever was at its key was not done in time.
    FailedNoKey {
        /// Which run.
        by: RunId,
    },
}

impl StepSettlement {
    /// The step at the root of it, where another step kept this one from running.
    pub const fn cause(&self) -> Option<StepIx> {
        match self {
            Self::Blocked { cause }
            | Self::Withheld { cause }
            | Self::CancelledByFailure { cause } => Some(*cause),
            Self::SkippedByCondition
            | Self::SkippedByValues { .. }
            | Self::SkippedUnplaceable
            | Self::CancelledWithRun
            | Self::Superseded { .. }
            | Self::FailedNoWorker
            | Self::FailedNoLock
            | Self::FailedCondition { .. }
            | Self::FailedTooLarge { .. }
            | Self::FailedKey { .. }
            | Self::FailedNoKey { .. } => None,
        }
    }

    /// The status that a step has afterwards.
    pub const fn status(&self) -> StepStatus {
        match self {
            Self::SkippedByCondition | Self::SkippedByValues { .. } | Self::SkippedUnplaceable => {
                StepStatus::Skipped
            }
            Self::Blocked { .. } | Self::Withheld { .. } => StepStatus::Blocked,
            Self::CancelledWithRun | Self::CancelledByFailure { .. } | Self::Superseded { .. } => {
                StepStatus::Cancelled
            }
            Self::FailedNoWorker
            | Self::FailedNoLock
            | Self::FailedCondition { .. }
            | Self::FailedTooLarge { .. }
            | Self::FailedKey { .. }
            | Self::FailedNoKey { .. } => StepStatus::Failed,
        }
    }
}
