//! An open lease.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{Fence, Incarnation, Seq, StepIx, Term};
use crate::session::{StopMode, StopReason};
use crate::slab::{LockIx, RunIx, WorkerIx};
use crate::time::{Span, Time};

/// The right of one worker to execute one step for a while, until it ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lease {
    pub(crate) fence: Fence,
    pub(crate) run: RunIx,
    pub(crate) step: StepIx,
    pub(crate) attempt: u16,
    pub(crate) delivery: u16,
    pub(crate) worker: WorkerIx,
    /// The incarnation of the worker that it was granted to.
    pub(crate) life: Incarnation,
    /// The exchange that it answered.
    pub(crate) seq: Seq,
    /// The term that granted or last confirmed it.
    pub(crate) term: Term,
    /// When that was.
    pub(crate) since: Time,
    pub(crate) ttl: Span,
    /// The first takeover after `since`, later by what journal time has leapt after it: without a confirmation it ends one TTL
    /// later.
    pub(crate) led_since: Option<Time>,
    /// The jumps of journal time since its step started; they do not count against the step.
    pub(crate) leapt: Span,
    pub(crate) started_at: Option<Time>,
    /// When its step should have been ended by its worker at the latest.
    pub(crate) overdue_at: Option<Time>,
    pub(crate) stop: Option<(StopMode, StopReason)>,
    /// Locks that it holds.
    pub(crate) locks: Option<Arc<[LockIx]>>,
    /// Its positions in the lists of its worker and its run.
    pub(crate) at_worker: u32,
    pub(crate) at_run: u32,
    /// Volatile: when it ends if it is no longer to be renewed.
    pub(crate) frozen: Option<Time>,
    /// Volatile: whether its worker was asked to give it back.
    pub(crate) asked_back: bool,
    /// Volatile: the newest exchange that listed it.
    pub(crate) heard: Seq,
}

impl Lease {
    /// Whether it was granted in answer to an exchange whose reply the worker has not processed.
    pub(crate) fn is_undelivered(&self, seen: Seq) -> bool {
        self.seq > seen
    }

    /// When it ends unless it is renewed; `contact` is the last contact of its worker with this leader.
    pub(crate) fn expires(&self, contact: Time) -> Time {
        let end = self.led_since.unwrap_or_else(|| self.since.max(contact)) + self.ttl;
        self.frozen.map_or(end, |frozen| frozen.min(end))
    }
}
