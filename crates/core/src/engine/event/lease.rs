//! Events about leases and the locks that they hold.

use serde::{Deserialize, Serialize};

use crate::id::{Fence, RunId, Seq, StepIx, WorkerId};
use crate::outcome::{Outcome, StepStatus};
use crate::session::StopReason;
use crate::time::{Span, Time};

/// A worker got a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The worker that got the lease.
    pub worker: WorkerId,
    /// The fence of the lease.
    pub fence: Fence,
    /// The exchange that the grant answered.
    pub seq: Seq,
    /// When the lease ends unless it is renewed; `None` if it does not end by time.
    pub expires: Option<Time>,
}

/// A worker presented a lease of an earlier term to this leader, and the lease continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The fence of the lease.
    pub fence: Fence,
}

/// A worker reported that it had started the step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The fence of the lease.
    pub fence: Fence,
}

/// The step of one lease is to be stopped, for a reason of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopOrdered {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The fence of the lease.
    pub fence: Fence,
    /// Why the step is to be stopped.
    pub why: StopReason,
}

/// A lease ended, and its locks were freed. A lease that is [`LeaseEndKind::Late`] had ended before: its outcome counts
/// after all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseEnded {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The fence of the lease.
    pub fence: Fence,
    /// The outcome of the attempt.
    pub outcome: Outcome,
    /// What follows for the step.
    pub next: StepFollowUp,
    /// Whether the holder reported the end; if not, a report that comes later is late.
    pub ended: LeaseEndKind,
}

/// An outcome came after its lease had ended, and does not count. It is kept as history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateOutcome {
    /// The step's run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The fence of the lease.
    pub fence: Fence,
    /// The reported outcome.
    pub outcome: Outcome,
}

/// An operator took a lock from its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockForced {
    /// The name of the lock.
    pub lock: Box<str>,
    /// The fence of the lease that held it.
    pub fence: Fence,
}

/// How a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaseEndKind {
    /// The holder reported the outcome without a duration.
    Reported,
    /// The lease was given up: it expired, was missing in an exchange, or the incarnation of its holder ended.
    GivenUp,
    /// The holder reported the outcome and the duration of the attempt.
    Ran(Span),
    /// The lease had been given up before its holder reported the outcome, and the step was not granted again in between.
    Late {
        /// The duration of the attempt, if the holder reported it.
        ran: Option<Span>,
    },
}

impl LeaseEndKind {
    /// Whether the holder reported the outcome.
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

    /// The duration of the attempt, if the holder reported it.
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
    /// The step has ended with this status.
    Done(StepStatus),
    /// Another attempt follows after a back-off.
    Retry {
        /// The end of the back-off.
        at: Time,
        /// The worker to avoid if another one matches.
        avoid: Option<WorkerId>,
    },
    /// The same attempt is granted again.
    Again {
        /// Whether the delivery that ended counts against `retry.lost`.
        charged: bool,
    },
}
