//! Retention settings: what is kept, and for how long.

use crate::time::Span;

/// Applying this many events takes a tenth of a second.
const SNAPSHOT_AFTER: u64 = 200_000;

/// What is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct RetentionSettings {
    /// The time from the end of a run to its sealing. At least the lease duration, so that a late report finds the run.
    pub seal_after: Span,
    /// The steps of ended runs that stay in the engine until then. A busy cluster would otherwise keep its whole last
    /// minute.
    pub ended_steps: u64,
    /// The time from the end of a run to its sealing while there are more steps. At least the lease duration.
    pub seal_early: Span,
    /// The time for which sealed runs and their logs are kept.
    pub runs: Span,
    /// The time for which the idempotency keys of submissions are kept.
    pub keys: Span,
    /// The smallest number of events after which a snapshot is saved.
    pub snapshot_after: u64,
    /// The number of steps from which an ended run is sealed when the node shuts down. Only where leader and worker end
    /// together: no report can be late there, and the next start has nothing to apply.
    pub sealed_at_end: Option<u32>,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            seal_after: Span::secs(60),
            ended_steps: 250_000,
            seal_early: Span::secs(15),
            runs: Span::hours(24 * 90),
            keys: Span::hours(24 * 7),
            snapshot_after: SNAPSHOT_AFTER,
            sealed_at_end: None,
        }
    }
}

impl RetentionSettings {
    /// Returns the default settings for this lease duration.
    pub fn for_lease_ttl(ttl: Span) -> Self {
        let usual = Self::default();
        let (seal_after, seal_early) = (usual.seal_after.max(ttl), usual.seal_early.max(ttl));
        Self { seal_after, seal_early, ..usual }
    }
}
