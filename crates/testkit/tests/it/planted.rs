//! Planted bugs: some that are found at once, and what shrinking makes of a schedule that shows one.

use windlass_core::planted_bugs::PlantedBug;
use windlass_testkit::sim::{Schedule, hunt, planted, shrink};

/// Bugs that show within a few schedules; `sim --hunt` looks for all of them.
const QUICK: [PlantedBug; 7] = [
    PlantedBug::RepeatedGrantRunsAgain,
    PlantedBug::ReplyBeforeDurable,
    PlantedBug::TwoLockStarvation,
    PlantedBug::SupersededPollDropsGrants,
    PlantedBug::ReplyCacheLost,
    PlantedBug::SealBeforeArchive,
    PlantedBug::PruneUnsealed,
];

#[test]
fn bugs_that_show_quickly_are_found() {
    for bug in QUICK {
        let finding = hunt(bug, 20);
        assert!(finding.found.is_some(), "{bug:?} is missed in {} schedules", finding.schedules);
    }
}

#[test]
fn a_shrunk_schedule_breaks_the_same_rule_and_is_no_longer() {
    for bug in QUICK {
        let (seed, violation) = hunt(bug, 20).found.expect("it shows quickly");
        let schedule = Schedule::new(seed);
        let (short, report) = shrink(&schedule, planted(bug));
        let broken = report.violation.clone().expect("it still fails");
        assert_eq!(broken.rule, violation.rule, "{bug:?}");
        assert!(short.fault_count() <= schedule.fault_count(), "{bug:?}\n{short}");
        assert!(short.run_count() <= schedule.run_count(), "{bug:?}\n{short}");
        let last = report.story.last().expect("a shrunk schedule comes with its story");
        assert!(last.contains(violation.rule), "{bug:?} ends with {last}");
    }
}

#[test]
fn shrinking_leaves_out_what_does_not_matter() {
    let bug = PlantedBug::RepeatedGrantRunsAgain;
    let (seed, _) = hunt(bug, 20).found.expect("it shows quickly");
    let schedule = Schedule::new(seed);
    let (short, _) = shrink(&schedule, planted(bug));
    assert!(short.fault_count() < schedule.fault_count(), "\n{short}");
    let (again, _) = shrink(&short, planted(bug));
    assert_eq!(again.to_string(), short.to_string(), "nothing more can be left out");
}

#[test]
fn a_schedule_that_holds_is_not_shrunk() {
    let schedule = Schedule::new(1);
    let (same, report) = shrink(&schedule, windlass_core::planted_bugs::PlantedBugs::NONE);
    assert_eq!(report.violation, None);
    assert_eq!(same.to_string(), schedule.to_string());
}
