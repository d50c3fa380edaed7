//! When a candidate may take a term that another one may still hold.

use crate::id::Term;
use crate::time::{Span, Time};

/// What a store says of its newest term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermRecord {
    /// The term.
    pub term: Term,
    /// Changes whenever the term is won, renewed or given back.
    pub revision: u64,
    /// How long its holder may trust it without renewal; zero once it was given back.
    pub lasts: Span,
}

/// A candidate's observation of the newest term.
///
/// Whether a term is over is not asked of the store's clock, which may be set: forward, and a second leader would win while
/// the first one still trusts its term; back, and the term of a dead leader would last for as long as the clock was set back.
/// A candidate counts on its own monotonic clock. A term is over when the candidate has seen the same mark for as long as the
/// term lasts: its holder counts its [trust](super::LeaderLease) from before its last renewal, which was before the mark was seen.
/// The store gives the term only to a candidate that names the mark, so a renewal in between keeps it.
///
/// A process that has just started waits one term at most, and not at all for a term that was given back.
#[derive(Clone, Copy, Debug, Default)]
pub struct TermObserver {
    seen: Option<ObservedTerm>,
    led: Option<(Term, Time)>,
}

#[derive(Clone, Copy, Debug)]
struct ObservedTerm {
    mark: TermRecord,
    /// When it was seen first and last.
    since: Time,
    last: Time,
}

impl TermObserver {
    /// The store said this, and its answer came at `now` on the candidate's own clock.
    pub fn observe(&mut self, mark: TermRecord, now: Time) {
        match &mut self.seen {
            Some(seen) if seen.mark == mark => seen.last = now,
            seen => {
                let before = seen.replace(ObservedTerm { mark, since: now, last: now });
                let kept = before.filter(|before| before.mark.term == mark.term);
                self.led = kept.map(|before| (mark.term, before.last)).or(self.led);
            }
        }
    }

    /// The mark to name to the store, if the term is over.
    pub fn expired_term(&self, now: Time) -> Option<TermRecord> {
        let over = |seen: &ObservedTerm| now.since(seen.since) >= seen.mark.lasts;
        self.seen.filter(over).map(|seen| seen.mark)
    }

    /// The last term that was seen to be renewed or given back, and a time at which it still lasted.
    pub const fn last_led(&self) -> Option<(Term, Time)> {
        self.led
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(secs: u64) -> Time {
        Time::from_millis(secs * 1000)
    }

    fn mark(term: u64, beat: u64) -> TermRecord {
        TermRecord { term: Term(term), revision: beat, lasts: Span::secs(6) }
    }

    #[test]
    fn a_term_is_over_when_its_mark_has_not_changed_for_as_long_as_it_lasts() {
        let mut candidacy = TermObserver::default();
        assert_eq!(candidacy.expired_term(at(100)), None, "nothing is known");
        candidacy.observe(mark(3, 7), at(10));
        candidacy.observe(mark(3, 7), at(15));
        assert_eq!(candidacy.expired_term(at(15)), None);
        candidacy.observe(mark(3, 8), at(16));
        assert_eq!(candidacy.expired_term(at(21)), None, "it was renewed");
        assert_eq!(candidacy.expired_term(at(22)), Some(mark(3, 8)));
        assert_eq!(candidacy.last_led(), Some((Term(3), at(15))));
    }

    #[test]
    fn a_term_that_was_given_back_is_over_at_once() {
        let mut candidacy = TermObserver::default();
        let given_back = TermRecord { lasts: Span::ZERO, ..mark(3, 9) };
        candidacy.observe(given_back, at(10));
        assert_eq!(candidacy.expired_term(at(10)), Some(given_back));
        assert_eq!(candidacy.last_led(), None, "nothing was seen before");
    }

    #[test]
    fn newer_term_is_no_renewal_of_the_last_one() {
        let mut candidacy = TermObserver::default();
        candidacy.observe(mark(3, 1), at(10));
        candidacy.observe(mark(3, 2), at(12));
        candidacy.observe(mark(4, 3), at(30));
        assert_eq!(candidacy.last_led(), Some((Term(3), at(10))));
    }
}
