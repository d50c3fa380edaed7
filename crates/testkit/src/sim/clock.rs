//! Clocks with a rate of their own, and clocks that are set.

use windlass_core::time::Time;

/// A node's clock. It counts from its own origin, a few per mille too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriftingClock {
    pub(crate) offset: u64,
    pub(crate) drift_per_mille: i64,
}

impl DriftingClock {
    /// Returns what the clock shows at the true time.
    pub(crate) fn local(self, truth: u64) -> Time {
        let rate = 1000_u64.saturating_add_signed(self.drift_per_mille);
        Time::from_millis(self.offset + truth * rate / 1000)
    }

    /// Returns the first true time at which the clock shows at least `local`.
    pub(crate) fn truth(self, local: Time) -> u64 {
        let rate = 1000_u64.saturating_add_signed(self.drift_per_mille);
        let elapsed = local.as_millis().saturating_sub(self.offset);
        (elapsed * 1000).div_ceil(rate)
    }
}

/// The clock of the store or of a host, which can be set. It shows the true time plus an epoch, until it jumps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WallClock {
    shift: i64,
}

/// The origin of wall clocks: far enough from zero to be set back.
const EPOCH: u64 = 1_000 * 24 * 60 * 60 * 1000;

impl WallClock {
    pub(crate) const fn jumps(&mut self, by: i64) {
        self.shift = self.shift.saturating_add(by);
    }

    /// Returns what it shows at the true time.
    pub(crate) const fn shows(self, truth: u64) -> u64 {
        (EPOCH + truth).saturating_add_signed(self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clock_jumps_both_ways() {
        let mut wall = WallClock::default();
        let before = wall.shows(1_000);
        wall.jumps(-500);
        assert_eq!(wall.shows(1_000), before - 500);
        wall.jumps(86_400_000);
        assert_eq!(wall.shows(1_001), before + 86_399_501);
    }

    #[test]
    fn clock_shows_the_awaited_time_and_not_a_tick_more() {
        for drift_per_mille in [-30, 0, 7, 30] {
            let clock = DriftingClock { offset: 5_000, drift_per_mille };
            for local in [5_000, 5_001, 17_123, 999_999] {
                let truth = clock.truth(Time::from_millis(local));
                assert!(clock.local(truth) >= Time::from_millis(local));
                assert!(truth == 0 || clock.local(truth - 1) < Time::from_millis(local));
            }
        }
    }
}
