//! What the system gives a process.

use rustix::process::{Resource, getrlimit};

/// How many descriptors this process may have.
pub(crate) fn descriptors_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}
