//! What maintenance requests, what it sees, and what came of its effects.

use crate::id::RunId;
use crate::time::Time;

/// One piece of work in the stores. Each can be repeated without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceEffect {
    /// Write every known event of a run to the archive. The outcome is the position of the last one written.
    WriteArchive(RunId),
    /// Ask the leader to seal a run.
    Seal(RunId),
    /// Find the newest usable snapshot. The outcome is its position, or zero if there is none.
    FindSnapshot,
    /// Save a snapshot of the view. The outcome is its position.
    SaveSnapshot,
    /// Remove batches that end at this position or before. The outcome is the position up to which events are removed.
    PruneBefore(u64),
    /// Delete archived runs, their logs and submission keys whose time has passed.
    DeleteExpired,
}

/// The outcome of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceOutcome {
    /// It succeeded; the position is the one that the effect describes, and zero for effects without one.
    Done(u64),
    /// It failed, or nothing is known about it.
    Failed,
}

/// The node as maintenance sees it.
#[derive(Clone, Copy, Debug)]
pub struct MaintenanceObservation {
    /// Journal time.
    pub now: Time,
    /// Whether this node leads. A node that does not lead requests nothing.
    pub leads: bool,
    /// How many durable events the view has folded.
    pub view: u64,
    /// Nodes of all plans in the view: the size of a snapshot follows from it.
    pub nodes: u64,
}
