//! The leader lease: the time for which a leader may act as such.

use crate::time::{Span, Time};

/// A term as its holder sees it, on its own clock.
///
/// A store whose terms expire states their duration. The holder counts it from *before* its request and stops early: by
/// a tenth for clocks that run at different rates, and by half a second to act. Between the end of the lease and the
/// end of the term nothing leads; the other way round two leaders might. Where a term ends with its process, the lease
/// does not expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderLease {
    lasts: Option<Span>,
    valid_until: Option<Time>,
    renew_at: Option<Time>,
}

/// A term is renewed this many times per duration.
const RENEWALS: u64 = 4;

/// The pause after a renewal that failed.
const RETRY: Span = Span::millis(200);

/// The part of a term that is kept free to act in.
const MARGIN: Span = Span::millis(500);

impl LeaderLease {
    /// Returns the lease of a term that was requested at `asked_at` and won at `now`.
    pub fn won(lasts: Option<Span>, asked_at: Time, now: Time) -> Self {
        let mut lease = Self { lasts, valid_until: None, renew_at: None };
        lease.renewed(asked_at, now);
        lease
    }

    /// Extends the lease: the renewal that was requested at `asked_at` was granted.
    pub fn renewed(&mut self, asked_at: Time, now: Time) {
        self.valid_until = self.lasts.map(|lasts| {
            asked_at + lasts.saturating_sub(lasts.divided_by(10)).saturating_sub(MARGIN)
        });
        self.renew_at = self.lasts.map(|lasts| now + lasts.divided_by(RENEWALS));
    }

    /// Plans the next attempt after a renewal without an answer.
    pub fn not_renewed(&mut self, now: Time) {
        self.renew_at = self.renew_at.map(|_| now + RETRY);
    }

    /// Whether the holder may act as the leader.
    pub fn is_valid(&self, now: Time) -> bool {
        self.valid_until.is_none_or(|until| now <= until)
    }

    /// Returns the last moment at which the lease is valid; `None` if it does not expire.
    pub const fn valid_until(&self) -> Option<Time> {
        self.valid_until
    }

    /// Returns the time of the next renewal, if there is one.
    pub const fn renew_at(&self) -> Option<Time> {
        self.renew_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn lease_counts_from_before_the_request_and_ends_before_the_term() {
        let mut lease = LeaderLease::won(Some(Span::secs(6)), at(1_000), at(1_400));
        assert!(lease.is_valid(at(5_900)) && !lease.is_valid(at(5_901)));
        assert_eq!(lease.renew_at(), Some(at(2_900)));
        lease.not_renewed(at(3_000));
        assert_eq!(lease.renew_at(), Some(at(3_200)));
        assert!(!lease.is_valid(at(5_901)), "a failed renewal does not extend it");
        lease.renewed(at(3_200), at(3_300));
        assert!(lease.is_valid(at(8_100)) && !lease.is_valid(at(8_101)));
    }

    #[test]
    fn lease_of_a_term_that_ends_with_its_process_does_not_expire() {
        let lease = LeaderLease::won(None, at(0), at(0));
        assert!(lease.is_valid(at(u64::MAX)) && lease.renew_at().is_none());
    }
}
