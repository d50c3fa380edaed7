//! An open lease.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{Fence, Incarnation, Seq, StepIx, Term};
use crate::session::{StopMode, StopReason, WorkerLocality};
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
    /// The incarnation of the worker that got it.
    pub(crate) incarnation: Incarnation,
    /// The place of that incarnation. On the leader's host it relies on its guard: the lease does not end by time, also
    /// when the incarnation is no longer the current one.
    pub(crate) locality: WorkerLocality,
    /// The exchange that the grant answered.
    pub(crate) seq: Seq,
    /// The term that granted or last confirmed it.
    pub(crate) term: Term,
    /// When the lease was granted or last confirmed.
    pub(crate) since: Time,
    pub(crate) ttl: Span,
    /// The first takeover after `since`, moved by later jumps of journal time. Without a confirmation the lease ends
    /// one TTL after it.
    pub(crate) led_since: Option<Time>,
    /// The jumps of journal time since its step started; they do not count against the step.
    pub(crate) leapt: Span,
    pub(crate) started_at: Option<Time>,
    /// The latest time at which its worker should have ended the step.
    pub(crate) overdue_at: Option<Time>,
    pub(crate) stop: Option<(StopMode, StopReason)>,
    /// The locks that it holds.
    pub(crate) locks: Option<Arc<[LockIx]>>,
    /// Its positions in the lists of its worker and its run.
    pub(crate) at_worker: u32,
    pub(crate) at_run: u32,
    /// Volatile: when it ends if it must not be renewed any more.
    pub(crate) frozen: Option<Time>,
    /// Volatile: whether its worker was asked to release it.
    pub(crate) asked_back: bool,
    /// Volatile: the newest exchange that listed it.
    pub(crate) heard: Seq,
}

impl Lease {
    /// Returns whether the worker has not processed the reply that carried the grant.
    pub(crate) fn is_undelivered(&self, seen: Seq) -> bool {
        self.seq > seen
    }

    /// Returns when the lease ends unless it is renewed; `contact` is the last contact of its worker with this leader.
    /// `None` if it does not end by time.
    pub(crate) fn expires(&self, contact: Time) -> Option<Time> {
        if self.locality == WorkerLocality::SameHost {
            return None;
        }
        let end = self.led_since.unwrap_or_else(|| self.since.max(contact)) + self.ttl;
        Some(self.frozen.map_or(end, |frozen| frozen.min(end)))
    }
}
