//! Clocks that run at their own rate.

use windlass_core::time::Time;

/// A node's clock: it counts from its own beginning, a few per mille too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) offset: u64,
    pub(crate) drift_per_mille: i64,
}

impl Clock {
    /// What the clock shows at the true time.
    pub(crate) fn local(self, truth: u64) -> Time {
        let rate = 1000_u64.saturating_add_signed(self.drift_per_mille);
        Time::from_millis(self.offset + truth * rate / 1000)
    }

    /// The first true time at which the clock shows at least `local`.
    pub(crate) fn truth(self, local: Time) -> u64 {
        let rate = 1000_u64.saturating_add_signed(self.drift_per_mille);
        let elapsed = local.as_millis().saturating_sub(self.offset);
        (elapsed * 1000).div_ceil(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_what_was_waited_for_and_not_a_tick_later() {
        for drift_per_mille in [-30, 0, 7, 30] {
            let clock = Clock { offset: 5_000, drift_per_mille };
            for local in [5_000, 5_001, 17_123, 999_999] {
                let truth = clock.truth(Time::from_millis(local));
                assert!(clock.local(truth) >= Time::from_millis(local));
                assert!(truth == 0 || clock.local(truth - 1) < Time::from_millis(local));
            }
        }
    }
}
