//! Events about the leader.

use serde::{Deserialize, Serialize};

use crate::engine::takeover::takeover_gap::ProvenTime;
use crate::id::{Term, WorkerId};
use crate::time::{Span, Time};

/// A leader took over. A lease that it does not confirm ends one lease duration later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Led {
    /// The leader's term.
    pub term: Term,
    /// The lease duration from now on.
    pub ttl: Span,
    /// The store's generation, in the upper bits of fences.
    pub generation: u16,
    /// The worker of the leading node, for steps that are pinned to it.
    pub own: Option<WorkerId>,
    /// The end of the embargo: until then no step is granted that must not run beside a lost grant of itself or of its
    /// locks. `None` if the history is proven to be complete.
    pub embargo: Option<Time>,
    /// The time since the last event that the leader could prove. The rest of the gap moves the ends that real time
    /// brings.
    pub proven: ProvenTime,
}

/// Many workers fell silent at once, so they are given up one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Braked {
    /// The number of workers that are overdue.
    pub late: u32,
    /// The number of live workers.
    pub of: u32,
}
