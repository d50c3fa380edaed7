//! Journal time, as a node counts it.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::time::Time;

/// A clock that begins at a given time and advances with the monotonic one: it never runs backwards. It begins at a
/// takeover with the later of the store's clock and the last event.
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

    /// When it will be `at`.
    pub(super) fn instant(&self, at: Time) -> Instant {
        self.since + Duration::from_millis(at.since(self.base).as_millis())
    }
}
