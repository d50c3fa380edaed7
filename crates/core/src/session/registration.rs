//! The messages by which a worker joins, and what they prove about its earlier incarnations.

use serde::{Deserialize, Serialize};

use super::message::{FinishedAttempt, OutcomeVerdict};
use crate::id::{Fence, Incarnation, Term, WorkerId};
use crate::requirement::{Labels, WorkerScope};
use crate::time::Span;
use crate::word_set;

/// The place of a worker's process, as seen from the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WorkerLocality {
    /// Apart from the leader, or on a leading node that another one may replace: its leases expire.
    Apart,
    /// Set by the leader for the worker in its own process, never taken from a message.
    ///
    /// In the leader's process, where no other process can take over: its leases end with the process and do not
    /// expire.
    SharedFate,
    /// In another process of the leader's host, in a store that only processes of this host lead. Its leases do not
    /// expire, also not after a takeover. They end when the leader learns that its guard has ended. A leader accepts it
    /// only if its node allows it ([`EngineConfig::same_host_workers`](crate::engine::EngineConfig::same_host_workers)).
    SameHost,
}

impl WorkerLocality {
    /// Whether the worker's leases end by time, on both sides.
    pub const fn leases_expire(self) -> bool {
        match self {
            Self::Apart => true,
            Self::SharedFate | Self::SameHost => false,
        }
    }
}

word_set!(WorkerLocality {
    Apart => "apart",
    SharedFate => "shared_fate",
    SameHost => "same_host",
});

/// Incarnations that a registration can prove dead: those that ended before they could register. Further ones are left
/// to lease expiry.
pub const PROVEN_INCARNATIONS_MAX: usize = 16;

/// What a registration proves about earlier incarnations of its worker.
///
/// A higher incarnation number proves nothing: the state directory may have been copied or mounted elsewhere, or the
/// machine cloned, and the earlier incarnation may still run there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FormerIncarnationProof {
    /// Nothing. Steps that must not run twice at a time are freed by lease expiry only.
    #[default]
    Unknown,
    /// No process of these incarnations is alive, neither of the worker nor of a step. This says nothing about other
    /// incarnations: another host with a copy of the state directory may have registered in between.
    ProvenDead(Vec<Incarnation>),
}

impl FormerIncarnationProof {
    /// Whether it proves that nothing of this incarnation is left.
    pub fn proves(&self, incarnation: Incarnation) -> bool {
        match self {
            Self::Unknown => false,
            Self::ProvenDead(incarnations) => {
                incarnations.iter().take(PROVEN_INCARNATIONS_MAX).any(|it| *it == incarnation)
            }
        }
    }
}

/// A worker's request to join, or to come back after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRequest {
    /// The worker's id.
    pub worker: WorkerId,
    /// The worker's name, which is unique among live workers.
    pub name: Box<str>,
    /// The worker's incarnation.
    pub incarnation: Incarnation,
    /// The labels that the worker advertises.
    pub labels: Labels,
    /// The number of steps that the worker runs at a time.
    pub slots: u32,
    /// The place of the worker's process.
    #[serde(rename = "home")]
    pub locality: WorkerLocality,
    /// The runs whose steps the worker serves.
    #[serde(default)]
    pub scope: WorkerScope,
    /// What the registration proves about earlier incarnations.
    #[serde(default)]
    pub former: FormerIncarnationProof,
    /// Outcomes that the earlier incarnation could not report. They are judged before its leases end.
    pub spooled: Vec<FinishedAttempt>,
}

/// The answer to a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterReply {
    /// The leader's term.
    pub term: Term,
    /// The lease duration.
    pub ttl: Span,
    /// The longest interval between two exchanges.
    pub interval: Span,
    /// A verdict for each spooled outcome.
    pub verdicts: Vec<(Fence, OutcomeVerdict)>,
}
