//! Suspected jumps of a store's clock between two terms, which must not cause deletions.
//!
//! Within a term a monotonic clock counts time. Between two terms there is only the system clock, which may have been
//! set. A jump of more than a day looks the same whether the store was unused for so long or the clock is wrong. Such a
//! jump is *suspected*: ages are counted as if it had not happened, until a node has led for an hour. A second jump in
//! that hour is suspected together with the first.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// A shorter jump is trusted: it makes a deletion at most a day early.
const JUMP_MIN: Span = Span::hours(24);

/// How long a jump remains suspected: an operator has time to notice it and to stop the controller.
const PROBATION: Span = Span::hours(1);

/// The part of the journal's time that is suspected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SuspectedClockJump {
    /// The time of the last event.
    last: Time,
    /// The suspected time.
    leapt: Span,
    /// How long it remains suspected, in time under a leader.
    left: Span,
}

impl SuspectedClockJump {
    /// Records an event at this time; `begins` is true for the first event of a term.
    pub(in crate::engine) fn event(&mut self, at: Time, begins: bool) {
        let passed = at.since(self.last);
        let first = self.last == Time::ZERO;
        self.last = self.last.max(at);
        if begins && !first && passed > JUMP_MIN {
            (self.leapt, self.left) = (self.leapt + passed, PROBATION);
        } else if !begins {
            self.left = self.left.saturating_sub(passed);
            if self.left == Span::ZERO {
                self.leapt = Span::ZERO;
            }
        }
    }

    /// Returns the suspected part of the journal's time, and how long it remains suspected. The time since the last
    /// event counts.
    pub(in crate::engine) fn suspected_jump(&self, now: Time) -> Option<(Span, Span)> {
        let left = self.left.saturating_sub(now.since(self.last));
        (left > Span::ZERO).then_some((self.leapt, left))
    }

    /// Returns the time that decides whether data in the stores is old enough to be deleted. It is never later than
    /// `system`, the clock of this machine. If the store has a clock of its own and both agree, no jump is suspected.
    pub(in crate::engine) fn deletion_cutoff(
        &self,
        now: Time,
        system: Time,
        store_has_own: bool,
    ) -> Time {
        let apart = now.since(system).max(system.since(now));
        let agree = store_has_own && apart <= JUMP_MIN;
        system.min(if agree { now } else { self.trusted_time(now) })
    }

    /// Returns the time that decides whether items are old enough to be dropped.
    pub(in crate::engine) fn trusted_time(&self, now: Time) -> Time {
        self.suspected_jump(now).map_or(now, |(leapt, _)| now - leapt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::from_millis(1_000_000);

    fn jump_after(span: Span) -> (SuspectedClockJump, Time) {
        let mut doubt = SuspectedClockJump::default();
        doubt.event(START, true);
        doubt.event(START + span, true);
        (doubt, START + span)
    }

    #[test]
    fn clock_jump_between_terms_is_distrusted_for_an_hour_of_leading() {
        let (mut doubt, at) = jump_after(Span::hours(24 * 100));
        assert_eq!(doubt.trusted_time(at), START);
        doubt.event(at + Span::mins(40), false);
        assert_eq!(doubt.trusted_time(at + Span::mins(59)), START + Span::mins(59));
        assert_eq!(doubt.trusted_time(at + Span::mins(60)), at + Span::mins(60));
    }

    #[test]
    fn a_jump_is_trusted_if_the_database_and_this_machine_agree() {
        let (doubt, at) = jump_after(Span::hours(24 * 100));
        let soon = at + Span::secs(1);
        assert_eq!(doubt.deletion_cutoff(at, soon, true), at, "the store was left alone");
        assert_eq!(doubt.deletion_cutoff(at, soon, false), START, "there is one clock");
        assert_eq!(doubt.deletion_cutoff(at, START, true), START, "the database leapt");
        let later = at + Span::hours(2);
        assert_eq!(
            doubt.deletion_cutoff(later, START, false),
            START,
            "the clock was put right since"
        );
    }

    #[test]
    fn restarts_do_not_shorten_the_hour() {
        let (mut doubt, mut at) = jump_after(Span::hours(48));
        for _ in 0..20 {
            at = at + Span::mins(10);
            doubt.event(at, true);
        }
        assert!(doubt.suspected_jump(at).is_some(), "no node led in between");
        doubt.event(at + Span::mins(30), false);
        doubt.event(at + Span::hours(2), true);
        assert!(doubt.suspected_jump(at + Span::hours(2)).is_some());
        doubt.event(at + Span::hours(2) + Span::mins(30), false);
        assert_eq!(doubt.suspected_jump(at + Span::hours(3)), None);
    }

    #[test]
    fn one_day_gap_first_start_and_clock_set_back_are_trusted() {
        let (doubt, at) = jump_after(Span::hours(24));
        assert_eq!(doubt.trusted_time(at), at);
        let mut first = SuspectedClockJump::default();
        first.event(START, true);
        assert_eq!(first.trusted_time(START), START);
        first.event(Time::from_millis(5), true);
        assert_eq!(first.trusted_time(START), START);
    }
}
