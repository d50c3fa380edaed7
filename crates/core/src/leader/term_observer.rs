//! The time at which a candidate may take a term that another node may still hold.

use crate::id::Term;
use crate::time::{Span, Time};

/// A store's record of its newest term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermRecord {
    /// The term.
    pub term: Term,
    /// A number that changes whenever the term is won, renewed or given back.
    pub revision: u64,
    /// The time for which its holder may lead without renewal; zero once the term was given back.
    pub lasts: Span,
}

/// A candidate's observation of the newest term.
///
/// The store's clock cannot tell whether a term is over, because it may be set. If it is set forward, a second leader
/// would win while the first one still holds its lease. If it is set back, the term of a dead leader would not end. A
/// candidate therefore counts on its own monotonic clock. A term is over when the candidate has seen the same record
/// for the duration of the term: the holder counts its [lease](super::LeaderLease) from before its last renewal, which
/// was before the record was seen. The store grants the term only to a candidate that names the record, so a renewal in
/// between keeps it.
///
/// A process that has just started waits one term at most, and does not wait for a term that was given back.
#[derive(Clone, Copy, Debug, Default)]
pub struct TermObserver {
    seen: Option<ObservedTerm>,
    led: Option<(Term, Time)>,
}

#[derive(Clone, Copy, Debug)]
struct ObservedTerm {
    mark: TermRecord,
    /// The times at which the record was seen first and last.
    since: Time,
    last: Time,
}

impl TermObserver {
    /// Adds an answer of the store, which came at `now` on the candidate's own clock.
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

    /// Returns the record to name to the store, if the term is over.
    pub fn expired_term(&self, now: Time) -> Option<TermRecord> {
        let over = |seen: &ObservedTerm| now.since(seen.since) >= seen.mark.lasts;
        self.seen.filter(over).map(|seen| seen.mark)
    }

    /// Returns the last term that was seen to be renewed or given back, and a time at which it still lasted.
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
    fn term_is_over_when_its_record_has_not_changed_for_its_duration() {
        let mut observer = TermObserver::default();
        assert_eq!(observer.expired_term(at(100)), None, "nothing is known");
        observer.observe(mark(3, 7), at(10));
        observer.observe(mark(3, 7), at(15));
        assert_eq!(observer.expired_term(at(15)), None);
        observer.observe(mark(3, 8), at(16));
        assert_eq!(observer.expired_term(at(21)), None, "it was renewed");
        assert_eq!(observer.expired_term(at(22)), Some(mark(3, 8)));
        assert_eq!(observer.last_led(), Some((Term(3), at(15))));
    }

    #[test]
    fn returned_term_is_over_at_once() {
        let mut observer = TermObserver::default();
        let given_back = TermRecord { lasts: Span::ZERO, ..mark(3, 9) };
        observer.observe(given_back, at(10));
        assert_eq!(observer.expired_term(at(10)), Some(given_back));
        assert_eq!(observer.last_led(), None, "nothing was seen before");
    }

    #[test]
    fn newer_term_is_no_renewal_of_the_last_one() {
        let mut observer = TermObserver::default();
        observer.observe(mark(3, 1), at(10));
        observer.observe(mark(3, 2), at(12));
        observer.observe(mark(4, 3), at(30));
        assert_eq!(observer.last_led(), Some((Term(3), at(10))));
    }
}
