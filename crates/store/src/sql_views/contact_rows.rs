//! What no event tells: when workers were heard, and what follows for their leases.

use windlass_core::id::{Fence, WorkerId};
use windlass_core::time::Time;

/// Workers that were heard, and leases that end later for it. Written now and then: see [`Tables::shows_contacts`].
///
/// [`Tables::shows_contacts`]: super::Tables::shows_contacts
#[derive(Clone, Debug, Default)]
pub struct ContactRows {
    /// When.
    pub heard: Vec<(WorkerId, Time)>,
    /// When their leases end unless they are heard again.
    pub expires: Vec<(Fence, Time)>,
}
