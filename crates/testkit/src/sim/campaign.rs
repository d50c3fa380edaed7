//! Campaigns of many schedules, and the hunt for planted bugs.

use std::thread;

use windlass_core::planted_bugs::{PlantedBug, PlantedBugs};

use super::coverage_marks::CoverageMarks;
use super::panics::catch_panic;
use super::schedule::Schedule;
use super::world::{SimReport, SimViolation, SimWorld};

/// The result of many schedules.
#[derive(Clone, Debug, Default)]
pub struct SimCampaign {
    /// The number of schedules.
    pub schedules: u64,
    /// The schedules that failed, by seed.
    pub failed: Vec<(u64, SimViolation)>,
    /// The coverage marks that were hit.
    pub marks: CoverageMarks,
    /// The number of steps that succeeded, and of all steps.
    pub succeeded: (u64, u64),
    /// The number of events of all worlds.
    pub events: u64,
    /// The number of events in all journals.
    pub journalled: u64,
}

impl SimCampaign {
    /// Plays the schedules of `count` seeds on all processors. The result does not depend on their number.
    pub fn play(from: u64, count: u64) -> Self {
        let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let part = |part: u64| {
            let mut campaign = Self::default();
            for seed in (from..from.saturating_add(count)).filter(|seed| seed % threads == part) {
                campaign.add(seed, &play(seed, PlantedBugs::NONE, false));
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

    fn add(&mut self, seed: u64, report: &SimReport) {
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
pub fn play(seed: u64, bugs: PlantedBugs, with_story: bool) -> SimReport {
    match catch_panic(|| Schedule::new(seed)) {
        Ok(schedule) => SimWorld::new(&schedule, bugs, with_story).play(),
        Err(panic) => {
            SimReport { violation: Some(SimViolation::panic(panic, 0)), ..SimReport::default() }
        }
    }
}

/// True if this build has planted bugs.
pub const HAS_PLANTED: bool = cfg!(feature = "planted");

/// Returns the bugs with this one switched on.
#[cfg(feature = "planted")]
pub const fn planted(bug: PlantedBug) -> PlantedBugs {
    PlantedBugs::only(bug)
}

/// Returns no bug: this build has none.
#[cfg(not(feature = "planted"))]
pub const fn planted(_bug: PlantedBug) -> PlantedBugs {
    PlantedBugs::NONE
}

/// The result of the hunt for a planted bug.
#[derive(Clone, Debug)]
pub struct BugHuntResult {
    /// The bug.
    pub bug: PlantedBug,
    /// The first seed that showed the bug, and the broken rule; `None` if no seed did.
    pub found: Option<(u64, SimViolation)>,
    /// The number of schedules that were played.
    pub schedules: u64,
}

/// Plays schedules with one bug switched on until a rule breaks, at most `most`.
pub fn hunt(bug: PlantedBug, most: u64) -> BugHuntResult {
    for seed in 0..most {
        if let Some(violation) = play(seed, planted(bug), false).violation {
            return BugHuntResult { bug, found: Some((seed, violation)), schedules: seed + 1 };
        }
    }
    BugHuntResult { bug, found: None, schedules: most }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::schedule::{FaultKind, ScheduledFault};
    use crate::sim::shrink::shrink;

    #[test]
    fn panic_is_a_broken_rule_of_its_seed_and_shrinks() {
        let mut schedule = Schedule::new(5);
        let nobody = FaultKind::WorkerCrash(99);
        schedule.faults = vec![
            ScheduledFault { at: 1_000, lasts: 500, kind: FaultKind::JournalSlow },
            ScheduledFault { at: 3_000, lasts: 500, kind: nobody },
        ];
        let (short, report) = shrink(&schedule, PlantedBugs::NONE);
        let violation = report.violation.clone().expect("there is no worker 99");
        assert_eq!((violation.rule, violation.at), ("panic", 3_000));
        assert!(violation.detail.contains("out of bounds"), "{violation:?}");
        assert_eq!(short.faults.len(), 1, "{short}");
        let mut campaign = SimCampaign::default();
        campaign.add(5, &report);
        assert_eq!(campaign.failed, [(5, violation)]);
    }
}
