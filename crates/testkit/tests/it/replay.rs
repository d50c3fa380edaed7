//! A seed is the whole truth about its schedule.

use std::thread;

use windlass_core::planted_bugs::PlantedBugs;
use windlass_testkit::sim::{Schedule, SimReport, play};

const SEEDS: [u64; 6] = [0, 1, 17, 404, 99_991, u64::MAX];

fn replayed(seed: u64) -> (String, SimReport) {
    (Schedule::new(seed).to_string(), play(seed, PlantedBugs::NONE, true))
}

fn assert_same((schedule, report): &(String, SimReport), (other, replayed): &(String, SimReport)) {
    assert_eq!(schedule, other);
    // The first line that differs says more than two stories of a thousand lines.
    let differs = report.story.iter().zip(&replayed.story).find(|(one, other)| one != other);
    assert_eq!(differs, None, "{schedule}");
    assert_eq!(report.story.len(), replayed.story.len(), "{schedule}");
    assert!(report.journal == replayed.journal, "the journals of {schedule} differ");
    assert_eq!(report.events, replayed.events, "{schedule}");
}

#[test]
fn seed_replays_identically() {
    for seed in SEEDS {
        let report = replayed(seed);
        assert!(report.1.story.len() > 100, "seed {seed} does next to nothing");
        assert_same(&report, &replayed(seed));
    }
}

#[test]
fn seed_replays_identically_on_another_thread() {
    for seed in SEEDS {
        let elsewhere =
            thread::spawn(move || replayed(seed)).join().expect("it plays there as here");
        assert_same(&replayed(seed), &elsewhere);
    }
}

#[test]
fn recording_the_story_changes_nothing() {
    for seed in SEEDS {
        let (silent, told) =
            (play(seed, PlantedBugs::NONE, false), play(seed, PlantedBugs::NONE, true));
        assert_eq!((silent.events, silent.journalled), (told.events, told.journalled));
        assert!(silent.story.is_empty() && silent.journal.is_empty(), "it was not asked for");
        assert_eq!(told.journal.len() as u64, told.journalled);
    }
}

#[test]
fn different_seeds_differ() {
    assert_ne!(replayed(1).1.story, replayed(2).1.story);
}
