//! What the system gives a process.

/// How many descriptors this process may have.
#[cfg(unix)]
pub(crate) fn descriptors_max() -> usize {
    use rustix::process::{Resource, getrlimit};

    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// No bound is known here.
#[cfg(not(unix))]
pub(crate) const fn descriptors_max() -> usize {
    usize::MAX
}
