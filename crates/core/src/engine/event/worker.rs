//! Events about workers.

use serde::{Deserialize, Serialize};

use crate::id::{Incarnation, WorkerId};
use crate::requirement::{Labels, WorkerScope};
use crate::session::WorkerLocality;

/// A worker joined, or came back with a new incarnation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRegistered {
    /// The worker's id.
    pub worker: WorkerId,
    /// The worker's name.
    pub name: Box<str>,
    /// The incarnation that registered.
    pub incarnation: Incarnation,
    /// The labels that the worker advertises.
    pub labels: Labels,
    /// The number of steps that the worker runs at a time.
    pub slots: u32,
    /// The place of the worker's process.
    pub locality: WorkerLocality,
    /// The runs whose steps the worker serves.
    pub scope: WorkerScope,
}

/// The leader had no contact with a worker for one lease duration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLost {
    /// The worker's id.
    pub worker: WorkerId,
}

/// A lost worker was in contact again, with the same incarnation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReturned {
    /// The worker's id.
    pub worker: WorkerId,
}

/// A worker gets no more leases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerDrained {
    /// The worker's id.
    pub worker: WorkerId,
}

/// A worker's guard reported that no process of this incarnation is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerEnded {
    /// The worker's id.
    pub worker: WorkerId,
    /// The incarnation that ended.
    pub incarnation: Incarnation,
}

/// The engine dropped a worker that was lost long ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerForgotten {
    /// The worker's id.
    pub worker: WorkerId,
}
