//! A seed is the whole truth about its schedule.

use std::thread;

use windlass_core::planted::Bugs;
use windlass_testkit::sim::{Report, Schedule, play};

const SEEDS: [u64; 6] = [0, 1, 17, 404, 99_991, u64::MAX];

fn told(seed: u64) -> (String, Report) {
    (Schedule::new(seed).to_string(), play(seed, Bugs::NONE, true))
}

fn assert_same((schedule, report): &(String, Report), (other, replayed): &(String, Report)) {
    assert_eq!(schedule, other);
    // The first line that differs says more than two stories of a thousand lines.
    let differs = report.story.iter().zip(&replayed.story).find(|(one, other)| one != other);
    assert_eq!(differs, None, "{schedule}");
    assert_eq!(report.story.len(), replayed.story.len(), "{schedule}");
    assert!(report.journal == replayed.journal, "the journals of {schedule} differ");
    assert_eq!(report.events, replayed.events, "{schedule}");
}

#[test]
fn a_seed_tells_the_same_story_each_time() {
    for seed in SEEDS {
        let report = told(seed);
        assert!(report.1.story.len() > 100, "seed {seed} does next to nothing");
        assert_same(&report, &told(seed));
    }
}

#[test]
fn a_seed_tells_the_same_story_on_another_thread() {
    for seed in SEEDS {
        let elsewhere = thread::spawn(move || told(seed)).join().expect("it plays there as here");
        assert_same(&told(seed), &elsewhere);
    }
}

#[test]
fn telling_the_story_changes_nothing() {
    for seed in SEEDS {
        let (silent, told) = (play(seed, Bugs::NONE, false), play(seed, Bugs::NONE, true));
        assert_eq!((silent.events, silent.journalled), (told.events, told.journalled));
        assert!(silent.story.is_empty() && silent.journal.is_empty(), "it was not asked for");
        assert_eq!(told.journal.len() as u64, told.journalled);
    }
}

#[test]
fn different_seeds_tell_different_stories() {
    assert_ne!(told(1).1.story, told(2).1.story);
}
