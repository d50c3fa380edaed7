//! The state of a worker.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::queue::lane::{PerWorkerLimit, StepKind};
use crate::id::{Fence, Incarnation, Seq, WorkerId};
use crate::requirement::{Labels, WorkerScope};
use crate::session::{LeaderSession, StopMode, StopReason, WorkerLocality};
use crate::slab::{ClassIx, LeaseIx};
use crate::time::{Span, Time};

/// The status of a worker, as the journal records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    /// The worker is in contact and gets leases.
    Online,
    /// The worker is in contact, finishes its leases and gets no more.
    Draining,
    /// The leader had no contact with the worker for one lease duration.
    Lost,
    /// The worker's guard reported its end.
    Ended,
}

impl fmt::Display for WorkerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Online => "online",
            Self::Draining => "draining",
            Self::Lost => "lost",
            Self::Ended => "ended",
        })
    }
}

/// How and why a lease is to be stopped. A later order replaces it only if it is greater.
pub(crate) type StopDirective = (StopMode, StopReason);

/// A known worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    pub(crate) name: Box<str>,
    pub(crate) incarnation: Incarnation,
    pub(crate) labels: Labels,
    pub(crate) slots: u32,
    pub(crate) locality: WorkerLocality,
    pub(crate) scope: WorkerScope,
    pub(crate) status: WorkerStatus,
    /// Whether the worker is drained: it gets no more leases.
    pub(crate) drained: bool,
    /// When its status last changed.
    pub(crate) since: Time,
    /// Open leases, in no order.
    pub(crate) leases: Vec<LeaseIx>,
    /// The number of open leases of former incarnations that are not proven to have ended. They occupy no slot and end
    /// by time.
    pub(crate) former: u32,
    /// Classes that the worker serves; empty unless it is online.
    pub(crate) classes: Vec<ClassIx>,
    /// Open leases by kind, over all incarnations and runs, for kinds with a per-worker limit.
    pub(crate) kinds: BTreeMap<Arc<StepKind>, u32>,
    /// When the engine checks its silence next.
    pub(crate) timer: Option<Time>,
    /// Volatile: the session with the worker.
    pub(crate) peer: LeaderSession,
    /// Volatile: the last contact of the worker with this leader.
    pub(crate) contact: Time,
    /// Volatile: stop orders that were sent to it, each with the reply that carried it.
    pub(crate) stops_sent: BTreeMap<Fence, (StopDirective, Seq)>,
    /// Volatile: the number of leases that its parked exchange still requests.
    pub(crate) want: u32,
    /// Volatile: when its parked exchange must be answered.
    pub(crate) park_until: Time,
    /// Volatile: the smoothed duration of its steps in microseconds; zero if unknown.
    pub(crate) pace_us: u64,
}

impl Worker {
    /// Returns whether the worker's leases end by time.
    pub(crate) const fn leases_expire(&self) -> bool {
        self.locality.leases_expire()
    }

    pub(crate) fn is_live(&self) -> bool {
        matches!(self.status, WorkerStatus::Online | WorkerStatus::Draining)
    }

    /// Returns the number of open leases of the current incarnation.
    pub(crate) fn open(&self) -> u32 {
        self.open_of_all_incarnations() - self.former
    }

    /// Returns the number of open leases of all incarnations.
    pub(crate) fn open_of_all_incarnations(&self) -> u32 {
        u32::try_from(self.leases.len()).expect("leases of a worker are bounded")
    }

    /// Removes one lease from the count of its kind.
    pub(crate) fn uncount_kind(&mut self, kind: &Arc<StepKind>) {
        let Some(open) = self.kinds.get_mut(kind) else { return };
        *open -= 1;
        if *open == 0 {
            self.kinds.remove(kind);
        }
    }

    /// Returns whether the worker runs as many steps of a kind as the limit allows.
    pub(crate) fn is_at_limit(&self, limit: &PerWorkerLimit) -> bool {
        self.kinds.get(&limit.kind).is_some_and(|open| *open >= limit.most)
    }

    pub(crate) fn has_free_slot(&self) -> bool {
        self.open() < self.slots
    }

    /// Records the duration of a step; each new one has a weight of one eighth.
    pub(crate) fn record_duration(&mut self, ran: Span) {
        let us = ran.min(Span::hours(24)).as_millis() * 1000;
        let pace_us = if self.pace_us == 0 { us } else { (self.pace_us * 7 + us) / 8 };
        // Zero stands for an unknown duration.
        self.pace_us = pace_us.max(1);
    }

    /// Returns the number of leases that the worker may hold: one per slot, and at least one ahead of each slot, as
    /// many as fill `work`.
    pub(crate) fn capacity(&self, work: Span, ahead_max: u32) -> u32 {
        let fill = match self.pace_us {
            0 => 1,
            pace => (work.as_millis() * 1000 / pace).max(1),
        };
        let ahead = u32::try_from(fill).unwrap_or(u32::MAX).min(ahead_max);
        self.slots.saturating_mul(1 + ahead)
    }
}
