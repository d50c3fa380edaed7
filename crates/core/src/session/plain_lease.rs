//! A lease that a plain worker has.

use super::message::LeaseRef;
use crate::time::{Span, Time};

/// The time limit of a step without a timeout, on a worker that does not list its leases.
pub(super) const SILENT_STEP_TIMEOUT: Span = Span::hours(1);

/// A lease that a plain worker has.
#[derive(Clone, Copy, Debug)]
pub struct PlainLease {
    pub(super) lease: LeaseRef,
    pub(super) since: Time,
    pub(super) timeout: Span,
    /// Whether the worker lists the lease in its heartbeats. Such a lease is held for as long as it is listed.
    pub(super) is_listed: bool,
    /// Since when the worker has been ordered to stop the step, because it is overdue.
    pub(super) overdue_since: Option<Time>,
}

impl PlainLease {
    /// Returns a lease that the worker has had since this time.
    pub fn new(lease: LeaseRef, since: Time, timeout: Option<Span>) -> Self {
        let timeout = timeout.unwrap_or(SILENT_STEP_TIMEOUT);
        Self { lease, since, timeout, is_listed: false, overdue_since: None }
    }

    /// Returns whether the step is overdue. The worker does not say whether it runs.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        !self.is_listed && now.since(self.since) > self.timeout
    }
}
