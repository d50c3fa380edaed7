//! The clock of journal time.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::time::Time;

/// A clock that starts at a given time and advances with the monotonic clock, so it never runs backwards. At a takeover
/// it starts with the later of the store's clock and the last event.
#[derive(Clone, Copy, Debug)]
pub(super) struct JournalClock {
    base: Time,
    since: Instant,
}

impl JournalClock {
    pub(super) fn starting_at(base: Time) -> Self {
        Self { base, since: Instant::now() }
    }

    pub(super) fn now(&self) -> Time {
        let elapsed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        Time::from_millis(self.base.as_millis().saturating_add(elapsed))
    }

    /// Returns the instant at which this clock shows `at`.
    pub(super) fn instant(&self, at: Time) -> Instant {
        self.since + Duration::from_millis(at.since(self.base).as_millis())
    }
}
