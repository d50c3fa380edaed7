//! Many schedules, and the hunt for planted bugs.

use std::thread;

use windlass_core::planted::{Bug, Bugs};

use super::marks::Marks;
use super::panics::caught;
use super::schedule::Schedule;
use super::world::{Report, Violation, World};

/// What many schedules came to.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// How many were played.
    pub schedules: u64,
    /// Those that failed, by seed.
    pub failed: Vec<(u64, Violation)>,
    /// What was covered.
    pub marks: Marks,
    /// Steps that succeeded, and steps there were.
    pub succeeded: (u64, u64),
    /// Events of all worlds.
    pub events: u64,
    /// Events in all journals.
    pub journalled: u64,
}

impl Campaign {
    /// Plays the schedules of so many seeds on all processors. It comes to the same on any number of them.
    pub fn play(from: u64, count: u64) -> Self {
        let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let part = |part: u64| {
            let mut campaign = Self::default();
            for seed in (from..from.saturating_add(count)).filter(|seed| seed % threads == part) {
                campaign.add(seed, &play(seed, Bugs::NONE, false));
            }
            campaign
        };
        let mut all = Self::default();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|at| scope.spawn(move || part(at))).collect();
            for thread in threads {
                all.join(thread.join().expect("a schedule's panic is caught where it is played"));
            }
        });
        all
    }

    fn add(&mut self, seed: u64, report: &Report) {
        self.schedules += 1;
        self.marks.add(&report.marks);
        self.succeeded.0 += report.succeeded.0;
        self.succeeded.1 += report.succeeded.1;
        self.events += report.events;
        self.journalled += report.journalled;
        if let Some(violation) = &report.violation {
            self.failed.push((seed, violation.clone()));
        }
    }

    fn join(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.marks.add(&other.marks);
        self.succeeded.0 += other.succeeded.0;
        self.succeeded.1 += other.succeeded.1;
        self.events += other.events;
        self.journalled += other.journalled;
        self.failed.extend(other.failed);
        self.failed.sort_by_key(|(seed, _)| *seed);
    }
}

/// Plays the schedule of a seed.
pub fn play(seed: u64, bugs: Bugs, with_story: bool) -> Report {
    match caught(|| Schedule::new(seed)) {
        Ok(schedule) => World::new(&schedule, bugs, with_story).play(),
        Err(panic) => Report { violation: Some(Violation::panic(panic, 0)), ..Report::default() },
    }
}

/// Whether this build has planted bugs.
pub const HAS_PLANTED: bool = cfg!(feature = "planted");

/// This bug switched on.
#[cfg(feature = "planted")]
pub const fn planted(bug: Bug) -> Bugs {
    Bugs::only(bug)
}

/// No bug: this build has none.
#[cfg(not(feature = "planted"))]
pub const fn planted(_bug: Bug) -> Bugs {
    Bugs::NONE
}

/// Where a planted bug was found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which bug.
    pub bug: Bug,
    /// The first seed that showed it, and what it broke; `None` if none did.
    pub found: Option<(u64, Violation)>,
    /// How many schedules were played.
    pub schedules: u64,
}

/// Plays schedules with one bug switched on until a rule breaks, at most `most`.
pub fn hunt(bug: Bug, most: u64) -> Finding {
    for seed in 0..most {
        if let Some(violation) = play(seed, planted(bug), false).violation {
            return Finding { bug, found: Some((seed, violation)), schedules: seed + 1 };
        }
    }
    Finding { bug, found: None, schedules: most }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::schedule::{Fault, FaultKind};
    use crate::sim::shrink::shrink;

    #[test]
    fn a_panic_is_a_broken_rule_of_its_seed_and_shrinks() {
        let mut schedule = Schedule::new(5);
        let nobody = FaultKind::WorkerCrash(99);
        schedule.faults = vec![
            Fault { at: 1_000, lasts: 500, what: FaultKind::JournalSlow },
            Fault { at: 3_000, lasts: 500, what: nobody },
        ];
        let (short, report) = shrink(&schedule, Bugs::NONE);
        let violation = report.violation.clone().expect("there is no worker 99");
        assert_eq!((violation.rule, violation.at), ("panic", 3_000));
        assert!(violation.detail.contains("out of bounds"), "{violation:?}");
        assert_eq!(short.faults.len(), 1, "{short}");
        let mut campaign = Campaign::default();
        campaign.add(5, &report);
        assert_eq!(campaign.failed, [(5, violation)]);
    }
}
