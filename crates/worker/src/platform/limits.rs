//! The limits that the system sets for a process.

/// Returns the number of descriptors that this process may have.
#[cfg(unix)]
pub(crate) fn descriptors_max() -> usize {
    use rustix::process::{Resource, getrlimit};

    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// Returns the largest number: no limit is known here.
#[cfg(not(unix))]
pub(crate) const fn descriptors_max() -> usize {
    usize::MAX
}
