//! Time in which no leader led: it counts against no waiting limit and no run deadline.
//!
//! An absence lasts from the last event before a takeover to the `Led` of the takeover. The time that `Led`
//! [proves](super::takeover_gap) to have been led after that event is subtracted. All of it is in the journal, so every
//! replay finds the same absences. A leader may have decided nothing in its last minutes, with no standby that saw it
//! renew its term. These minutes count as absence too, which lengthens a wait and never shortens it.
//!
//! Waits that end without a failure (back-off, aging, preferences, reserved locks) continue during an absence.

use serde::{Deserialize, Serialize};

use super::takeover_gap::ProvenTime;
use crate::engine::state::engine::Engine;
use crate::planted_bugs::PlantedBug;
use crate::time::{Span, Time};

/// The maximum number of absences to keep. The oldest beyond it are dropped, and count as waiting time for the steps
/// that waited then.
const ABSENCES_MAX: usize = 256;

/// The periods in which no node led.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaderAbsences {
    /// The time of the last event.
    last: Time,
    /// Begin and end of each period, oldest first.
    spans: Vec<(Time, Time)>,
}

impl LeaderAbsences {
    /// Returns the time of the last event.
    pub(in crate::engine) const fn last(&self) -> Time {
        self.last
    }

    /// Returns the time since the last event; zero before the first one.
    pub(in crate::engine) fn gap(&self, now: Time) -> Span {
        if self.last == Time::ZERO { Span::ZERO } else { now.since(self.last) }
    }

    /// Records an event at this time; the first event of a term has a proof of the time since the last one.
    pub(in crate::engine) fn event(&mut self, at: Time, takes_over: Option<ProvenTime>) {
        let gap = self.gap(at);
        let ended = self.last;
        self.last = ended.max(at);
        let Some(proven) = takes_over else { return };
        let began = ended + proven.clamp_to(gap).led;
        if ended == Time::ZERO || at <= began {
            return;
        }
        if self.spans.len() == ABSENCES_MAX {
            self.spans.remove(0);
        }
        self.spans.push((began, at));
    }

    /// Returns how long no node led after this time.
    fn after(&self, since: Time) -> Span {
        let later = self.spans.iter().rev().take_while(|(_, ended)| *ended > since);
        later.map(|(began, ended)| ended.since((*began).max(since))).fold(Span::ZERO, |a, b| a + b)
    }
}

impl Engine {
    /// Returns when a wait is over that began then and may last so long. Only time under a leader counts, so a takeover
    /// moves the end: a deadline that fires is compared with it again.
    pub(crate) fn wait_ends(&self, since: Time, wait: Span) -> Time {
        if self.config.bugs.on(PlantedBug::AbsenceCounts) {
            return since + wait;
        }
        since + self.absences.after(since) + wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::secs(secs)
    }

    fn absences(events: &[(u64, bool)]) -> LeaderAbsences {
        let mut absences = LeaderAbsences::default();
        for (secs, takes_over) in events {
            absences.event(at(*secs), takes_over.then_some(ProvenTime::NONE));
        }
        absences
    }

    #[test]
    fn time_that_was_seen_to_be_led_is_no_absence() {
        let mut absences = absences(&[(10, true), (20, false)]);
        let proven = ProvenTime { passed: Span::secs(60), led: Span::secs(55) };
        absences.event(at(80), Some(proven));
        assert_eq!(absences.after(at(0)), Span::secs(5), "of 60 s");
        absences.event(at(90), Some(ProvenTime { passed: Span::secs(99), led: Span::secs(99) }));
        assert_eq!(absences.after(at(80)), Span::ZERO, "no longer than the gap");
    }

    #[test]
    fn an_absence_counts_from_the_last_event_to_the_takeover() {
        let absences = absences(&[(10, true), (20, false), (50, true), (60, false), (70, true)]);
        assert_eq!(absences.after(at(0)), Span::secs(40));
        assert_eq!(absences.after(at(30)), Span::secs(30), "the rest of the first, and the second");
        assert_eq!(absences.after(at(50)), Span::secs(10));
        assert_eq!(absences.after(at(70)), Span::ZERO);
    }

    #[test]
    fn a_first_leader_ends_no_absence_and_a_clock_set_back_makes_none() {
        assert_eq!(absences(&[(10, true)]).after(at(0)), Span::ZERO);
        assert_eq!(absences(&[(10, true), (5, true)]).after(at(0)), Span::ZERO);
    }

    #[test]
    fn absences_are_bounded() {
        let takeovers: Vec<(u64, bool)> = (1..1000).map(|secs| (secs, true)).collect();
        let absences = absences(&takeovers);
        assert_eq!(absences.spans.len(), ABSENCES_MAX);
        assert_eq!(absences.after(at(998)), Span::secs(1));
    }
}
