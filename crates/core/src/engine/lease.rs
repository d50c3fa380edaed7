//! An open lease.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{Fence, Incarnation, Seq, StepIx, Term};
use crate::session::{StopMode, StopReason};
use crate::time::{Span, Time};

/// The right of one worker to execute one step for a while, until it ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Lease {
    pub(super) fence: Fence,
    pub(super) run: u32,
    pub(super) step: StepIx,
    pub(super) attempt: u16,
    pub(super) delivery: u16,
    pub(super) worker: u32,
    /// The life of the worker that it was granted to.
    pub(super) life: Incarnation,
    /// The exchange that it answered.
    pub(super) seq: Seq,
    /// The term that granted or last confirmed it.
    pub(super) term: Term,
    /// When that was.
    pub(super) since: Time,
    pub(super) ttl: Span,
    /// The first takeover after `since`, later by what journal time has leapt after it: without a confirmation it ends one TTL
    /// later.
    pub(super) led_since: Option<Time>,
    /// How far journal time has leapt since its step started: the step does not count that.
    pub(super) leapt: Span,
    pub(super) started_at: Option<Time>,
    /// When its step should have been ended by its worker at the latest.
    pub(super) overdue_at: Option<Time>,
    pub(super) stop: Option<(StopMode, StopReason)>,
    /// Locks that it holds.
    pub(super) locks: Option<Arc<[u32]>>,
    /// Where it stands in its worker's and its run's lists.
    pub(super) at_worker: u32,
    pub(super) at_run: u32,
    /// Volatile: when it ends if it is no longer to be renewed.
    pub(super) frozen: Option<Time>,
    /// Volatile: whether its worker was asked to give it back.
    pub(super) asked_back: bool,
    /// Volatile: the newest exchange that listed it.
    pub(super) heard: Seq,
}

impl Lease {
    /// Whether it was granted in answer to an exchange whose reply the worker has not processed.
    pub(super) fn is_undelivered(&self, seen: Seq) -> bool {
        self.seq > seen
    }

    /// When it ends unless it is renewed; `contact` is when its worker was last heard under this leader.
    pub(super) fn expires(&self, contact: Time) -> Time {
        let end = self.led_since.unwrap_or_else(|| self.since.max(contact)) + self.ttl;
        self.frozen.map_or(end, |frozen| frozen.min(end))
    }
}
