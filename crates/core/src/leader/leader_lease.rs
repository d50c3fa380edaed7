//! How long a leader may believe that it still leads.

use crate::time::{Span, Time};

/// A term as its holder sees it, on its own clock.
///
/// A store that lets a term run out says how long it lasts; the holder counts from *before* it asked, and stops a little
/// early: a tenth for clocks that run at different rates, and half a second to act. Between the end of its trust and the
/// end of its term nobody leads; the other way round two might. Where a term ends with its process the trust has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderLease {
    lasts: Option<Span>,
    valid_until: Option<Time>,
    renew_at: Option<Time>,
}

/// A term is renewed four times while it lasts.
const RENEWALS: u64 = 4;

/// A renewal that failed is tried again this soon.
const RETRY: Span = Span::millis(200);

/// What is left of a term to act in.
const MARGIN: Span = Span::millis(500);

impl LeaderLease {
    /// A term that was asked for at `asked_at` and won at `now`.
    pub fn won(lasts: Option<Span>, asked_at: Time, now: Time) -> Self {
        let mut tenure = Self { lasts, valid_until: None, renew_at: None };
        tenure.renewed(asked_at, now);
        tenure
    }

    /// A renewal that was asked for at `asked_at` has been granted.
    pub fn renewed(&mut self, asked_at: Time, now: Time) {
        self.valid_until = self.lasts.map(|lasts| {
            asked_at + lasts.saturating_sub(lasts.divided_by(10)).saturating_sub(MARGIN)
        });
        self.renew_at = self.lasts.map(|lasts| now + lasts.divided_by(RENEWALS));
    }

    /// A renewal had no answer: it is asked for again soon.
    pub fn not_renewed(&mut self, now: Time) {
        self.renew_at = self.renew_at.map(|_| now + RETRY);
    }

    /// Whether the holder may speak as the leader.
    pub fn is_valid(&self, now: Time) -> bool {
        self.valid_until.is_none_or(|until| now <= until)
    }

    /// The last moment of trust, if it has one.
    pub const fn valid_until(&self) -> Option<Time> {
        self.valid_until
    }

    /// When to ask for a renewal, if ever.
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
    fn trust_counts_from_before_the_question_and_ends_before_the_term() {
        let mut tenure = LeaderLease::won(Some(Span::secs(6)), at(1_000), at(1_400));
        assert!(tenure.is_valid(at(5_900)) && !tenure.is_valid(at(5_901)));
        assert_eq!(tenure.renew_at(), Some(at(2_900)));
        tenure.not_renewed(at(3_000));
        assert_eq!(tenure.renew_at(), Some(at(3_200)));
        assert!(!tenure.is_valid(at(5_901)), "a question is no answer");
        tenure.renewed(at(3_200), at(3_300));
        assert!(tenure.is_valid(at(8_100)) && !tenure.is_valid(at(8_101)));
    }

    #[test]
    fn a_term_that_ends_with_its_process_is_trusted_for_ever() {
        let tenure = LeaderLease::won(None, at(0), at(0));
        assert!(tenure.is_valid(at(u64::MAX)) && tenure.renew_at().is_none());
    }
}
