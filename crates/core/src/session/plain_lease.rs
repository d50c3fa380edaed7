//! A lease that a plain worker has.

use super::message::LeaseRef;
use crate::time::{Span, Time};

/// The time limit of a step without a timeout, on a worker that does not list its leases.
const SILENT_STEP_TIMEOUT: Span = Span::hours(1);

/// A lease that a plain worker has.
#[derive(Clone, Copy, Debug)]
pub struct PlainLease {
    pub(super) lease: LeaseRef,
    pub(super) since: Time,
    pub(super) timeout: Span,
    /// Whether the worker lists the lease in its heartbeats. Such a lease is held for as long as it is listed.
    pub(super) is_listed: bool,
}

impl PlainLease {
    /// Returns a lease that the worker has had since this time.
    pub fn new(lease: LeaseRef, since: Time, timeout: Option<Span>) -> Self {
        Self { lease, since, timeout: timeout.unwrap_or(SILENT_STEP_TIMEOUT), is_listed: false }
    }
}
