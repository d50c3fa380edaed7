//! What a worker leaves to its guard.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_core::id::{Incarnation, WorkerId};

/// What a guard needs to report the end of its worker.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Will {
    /// Where leaders are.
    pub ways: Vec<String>,
    /// The file that has the certificates of who vouches for leaders.
    pub ca: Option<String>,
    /// The cluster's token.
    pub token: Option<String>,
    /// The worker's secret.
    pub secret: String,
    /// The worker.
    pub worker: WorkerId,
    /// Its life.
    pub incarnation: Incarnation,
}

impl fmt::Debug for Will {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Will(of {} {} to {:?})", self.worker, self.incarnation, self.ways)
    }
}
