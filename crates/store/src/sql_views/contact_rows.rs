//! Rows that do not follow from events: last contacts of workers, and the expiry of their leases.

use windlass_core::id::{Fence, WorkerId};
use windlass_core::time::Time;

/// Contacts of workers and the resulting expiry of their leases, written from time to time: see
/// [`SqlViews::shows_contacts`](super::SqlViews::shows_contacts).
#[derive(Clone, Debug, Default)]
pub struct ContactRows {
    /// The time of the last contact of each worker.
    pub heard: Vec<(WorkerId, Time)>,
    /// The expiry of their leases.
    pub expires: Vec<(Fence, Time)>,
}
