//! A worker, as the engine keeps it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lane::{PerWorkerLimit, StepKind};
use crate::id::{Fence, Incarnation, Seq, WorkerId};
use crate::plan::WorkerFacts;
use crate::requirement::Labels;
use crate::session::{LeaderSession, StopMode, StopReason, WorkerLocality};
use crate::time::{Span, Time};

/// Where a worker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    /// It is heard and gets leases.
    Online,
    /// It is heard, finishes what it has and gets no more.
    Draining,
    /// It was not heard for a TTL.
    Lost,
    /// Its guard reported its end, or a newer life of it.
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

/// How a lease is to be stopped, and why; a later order counts if it is greater.
pub(super) type StopDirective = (StopMode, StopReason);

/// A worker that is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    pub(super) name: Box<str>,
    pub(super) incarnation: Incarnation,
    pub(super) labels: Labels,
    pub(super) slots: u32,
    pub(super) home: WorkerLocality,
    pub(super) status: WorkerStatus,
    /// Whether it was told to take no more.
    pub(super) drained: bool,
    /// When its status last changed.
    pub(super) since: Time,
    /// Open leases, in no order.
    pub(super) leases: Vec<u32>,
    /// How many of them are of former lives, which nothing proved dead: they take up no slot, and end by time.
    pub(super) former: u32,
    /// Classes that it may serve; empty unless it is online.
    pub(super) classes: Vec<u32>,
    /// Open leases by kind, of all lives and runs, where a per-worker limit counts them.
    pub(super) kinds: BTreeMap<Arc<StepKind>, u32>,
    /// When its silence is looked at next.
    pub(super) timer: Option<Time>,
    /// Volatile: its exchanges.
    pub(super) peer: LeaderSession,
    /// Volatile: when it was last heard under this leader.
    pub(super) contact: Time,
    /// Volatile: stops that it was told of, and with which reply.
    pub(super) told: BTreeMap<Fence, (StopDirective, Seq)>,
    /// Volatile: how many more leases it would take, as of its parked exchange.
    pub(super) want: u32,
    /// Volatile: when its parked exchange must be answered.
    pub(super) park_until: Time,
    /// Volatile: how long its steps take, in microseconds, smoothed.
    pub(super) pace_us: u64,
}

impl Worker {
    pub(super) fn placement_facts(&self, own: Option<WorkerId>) -> WorkerFacts<'_> {
        WorkerFacts { labels: &self.labels, name: &self.name, leads: own == Some(self.id) }
    }

    /// Whether its leases end by time.
    pub(super) fn leases_expire(&self) -> bool {
        self.home != WorkerLocality::SharedFate
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.status, WorkerStatus::Online | WorkerStatus::Draining)
    }

    /// Open leases of this life.
    pub(super) fn open(&self) -> u32 {
        self.open_of_all_lives() - self.former
    }

    /// Open leases of this life and of former ones.
    pub(super) fn open_of_all_lives(&self) -> u32 {
        u32::try_from(self.leases.len()).expect("leases of a worker are bounded")
    }

    /// Counts one lease less of a kind.
    pub(super) fn uncount_kind(&mut self, kind: &Arc<StepKind>) {
        let Some(open) = self.kinds.get_mut(kind) else { return };
        *open -= 1;
        if *open == 0 {
            self.kinds.remove(kind);
        }
    }

    /// Whether it runs as many steps of a kind as the limit allows.
    pub(super) fn is_at_limit(&self, limit: &PerWorkerLimit) -> bool {
        self.kinds.get(&limit.kind).is_some_and(|open| *open >= limit.most)
    }

    pub(super) fn has_free_slot(&self) -> bool {
        self.open() < self.slots
    }

    /// Remembers how long a step took; an eighth of each new one counts.
    pub(super) fn record_duration(&mut self, ran: Span) {
        let us = ran.min(Span::hours(24)).as_millis() * 1000;
        let pace_us = if self.pace_us == 0 { us } else { (self.pace_us * 7 + us) / 8 };
        // Zero stands for nothing known.
        self.pace_us = pace_us.max(1);
    }

    /// How many leases it may hold: one per slot, and ahead of each slot as many as fill `work`, at least one.
    pub(super) fn capacity(&self, work: Span, ahead_max: u32) -> u32 {
        let fill = match self.pace_us {
            0 => 1,
            pace => (work.as_millis() * 1000 / pace).max(1),
        };
        let ahead = u32::try_from(fill).unwrap_or(u32::MAX).min(ahead_max);
        self.slots.saturating_mul(1 + ahead)
    }
}
