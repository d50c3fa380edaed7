//! Many schedules, and the hunt for planted bugs.

use windlass_core::planted::{Bug, Bugs};

use super::marks::Marks;
use super::schedule::Schedule;
use super::world::{Report, Violation, World};

/// What many schedules came to.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// How many were played.
    pub schedules: u64,
    /// The first that failed, by seed.
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
    /// Adds what one schedule came to.
    pub fn add(&mut self, seed: u64, report: &Report) {
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

    /// Adds another campaign.
    pub fn join(&mut self, other: Self) {
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
    World::new(&Schedule::new(seed), bugs, with_story).play()
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
#[cfg(feature = "planted")]
pub fn hunt(bug: Bug, most: u64) -> Finding {
    for seed in 0..most {
        if let Some(violation) = play(seed, Bugs::only(bug), false).violation {
            return Finding { bug, found: Some((seed, violation)), schedules: seed + 1 };
        }
    }
    Finding { bug, found: None, schedules: most }
}

/// There is nothing to hunt in a build without planted bugs.
#[cfg(not(feature = "planted"))]
pub fn hunt(bug: Bug, _most: u64) -> Finding {
    Finding { bug, found: None, schedules: 0 }
}
