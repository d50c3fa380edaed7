//! A store's clock that leaps ahead between two terms, and what must not be deleted on its word.
//!
//! Within a term time is counted by a monotonic clock. Between two terms there is nothing but a clock that somebody may have
//! set: a leap of more than a day looks the same whether the store was left alone for so long or the clock is wrong. So a
//! leap is *doubted*: ages are counted as if it had not happened, until an hour has passed in which a node led. A second
//! leap in that hour is doubted with the first.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// A shorter leap is believed: what it deletes too early is a day early at most.
const JUMP_MIN: Span = Span::hours(24);

/// So long a clock must go on by itself: an operator has time to notice and to stop the controller.
const PROBATION: Span = Span::hours(1);

/// What is doubted of the journal's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SuspectedClockJump {
    /// When the last event was.
    last: Time,
    /// How much of the time since is doubted.
    leapt: Span,
    /// How long it is doubted yet, in time that a node leads.
    left: Span,
}

impl SuspectedClockJump {
    /// An event at this time; `begins`: it is the first of a term.
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

    /// How much of the journal's time is doubted, and for how long yet. Time passes too while nothing happens.
    pub(in crate::engine) fn suspected_jump(&self, now: Time) -> Option<(Span, Span)> {
        let left = self.left.saturating_sub(now.since(self.last));
        (left > Span::ZERO).then_some((self.leapt, left))
    }

    /// The time by which things in the stores are old enough to be deleted: not later than `system`, the clock of this machine.
    /// Where the store has a clock of its own and both agree, nothing is doubted.
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

    /// The time by which things are old enough to be forgotten.
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
    fn the_clock_of_a_database_and_that_of_this_machine_settle_it_together() {
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
        assert!(doubt.suspected_jump(at).is_some(), "nobody led between");
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
