//! The wait between an exchange that failed and the next one.

use std::time::Duration;

/// The longest wait after the first failure. Most failures are a restart or a lost packet.
const FIRST: Duration = Duration::from_millis(20);

/// The longest wait while leases are held, because they expire.
const WHILE_HELD_MAX: Duration = Duration::from_secs(1);

/// The longest wait otherwise. It bounds how late a worker is when its leader comes back.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Waits that double. Each is shortened at random, so that workers that lost a leader together do not return together.
#[derive(Debug)]
pub(super) struct ExchangeBackoff {
    limit: Duration,
    chance: u64,
}

impl ExchangeBackoff {
    /// Creates a sequence of its own for each seed.
    pub(super) const fn new(seed: u64) -> Self {
        // Zero would stay zero forever.
        Self { limit: FIRST, chance: seed | 1 << 63 }
    }

    /// Starts again with short waits, because the leader has answered.
    pub(super) const fn reset(&mut self) {
        self.limit = FIRST;
    }

    /// Returns the wait after another failure.
    pub(super) fn next(&mut self, holds_leases: bool) -> Duration {
        let longest = if holds_leases { WHILE_HELD_MAX } else { IDLE_MAX };
        let limit = self.limit.min(longest);
        self.limit = (self.limit * 2).min(IDLE_MAX);
        limit.mul_f64(self.draw())
    }

    /// Returns a number from 0 to 1 (xorshift64*).
    fn draw(&mut self) -> f64 {
        self.chance ^= self.chance >> 12;
        self.chance ^= self.chance << 25;
        self.chance ^= self.chance >> 27;
        let upper = self.chance.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        f64::from(u32::try_from(upper).expect("it has 32 bits")) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_limit_and_differ_between_workers() {
        let waits = |seed, held| {
            let mut backoff = ExchangeBackoff::new(seed);
            (0..40).map(|_| backoff.next(held)).collect::<Vec<_>>()
        };
        let (held, idle) = (waits(7, true), waits(7, false));
        assert!(held[0] <= FIRST && idle[0] <= FIRST);
        assert!(held.iter().all(|wait| *wait <= WHILE_HELD_MAX));
        assert!(idle.iter().all(|wait| *wait <= IDLE_MAX));
        assert!(*idle.iter().max().unwrap() > WHILE_HELD_MAX * 5, "{idle:?}");
        assert!(idle[20..].iter().any(|wait| *wait < IDLE_MAX / 4), "chance cuts them short");
        assert_ne!(waits(7, false), waits(8, false));
    }

    #[test]
    fn wait_is_short_again_after_an_answer() {
        let mut backoff = ExchangeBackoff::new(7);
        let longest = (0..20).map(|_| backoff.next(false)).max();
        assert!(longest > Some(FIRST));
        backoff.reset();
        assert!(backoff.next(false) <= FIRST);
    }
}
