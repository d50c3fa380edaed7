//! What is kept, and for how long.

use crate::time::Span;

/// Folding so many events takes a tenth of a second.
const SNAPSHOT_AFTER: u64 = 200_000;

/// What is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct RetentionSettings {
    /// How long after its end a run is sealed: a lease's TTL at least, so that a late report finds it.
    pub seal_after: Span,
    /// Steps of ended runs that stay in the engine until then. A busy cluster would have to remember its whole last minute.
    pub ended_steps: u64,
    /// How long after their end the oldest runs are sealed if there are more steps: a lease's TTL at least, as above.
    pub seal_early: Span,
    /// How long sealed runs and their logs are kept.
    pub runs: Span,
    /// How long the keys of submissions are kept.
    pub keys: Span,
    /// Events after which a snapshot is worth its writing, at least.
    pub snapshot_after: u64,
    /// Steps from which a run that has ended is sealed before the node ends. Only where leader and worker end together:
    /// no report can be late there, and the next start has nothing to fold.
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
    /// The default where leases last this long.
    pub fn for_lease_ttl(ttl: Span) -> Self {
        let usual = Self::default();
        let (seal_after, seal_early) = (usual.seal_after.max(ttl), usual.seal_early.max(ttl));
        Self { seal_after, seal_early, ..usual }
    }
}
