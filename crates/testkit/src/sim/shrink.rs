//! Shortens a failing schedule.

use windlass_core::planted_bugs::PlantedBugs;

use super::schedule::{FaultKind, Schedule};
use super::world::{SimReport, SimWorld};

/// Leaves out faults, runs and network faults one by one while the same rule still breaks, and returns the story of the
/// rest. A schedule that does not fail is unchanged.
pub fn shrink(schedule: &Schedule, bugs: PlantedBugs) -> (Schedule, SimReport) {
    let broken = |schedule: &Schedule| {
        SimWorld::new(schedule, bugs, false).play().violation.map(|violation| violation.rule)
    };
    let mut best = schedule.clone();
    if let Some(rule) = broken(schedule) {
        let smaller = |best: &Schedule| {
            candidates(best).into_iter().find(|candidate| broken(candidate) == Some(rule))
        };
        while let Some(found) = smaller(&best) {
            best = found;
        }
    }
    let report = SimWorld::new(&best, bugs, true).play();
    (best, report)
}

/// Returns schedules with a little less in them.
fn candidates(schedule: &Schedule) -> Vec<Schedule> {
    let mut list = Vec::new();
    for fault in (0..schedule.faults.len()).rev() {
        let mut without = schedule.clone();
        without.faults.remove(fault);
        list.push(without);
    }
    if schedule.runs.len() > 1 {
        let mut without = schedule.clone();
        without.runs.pop();
        let left = without.runs.len();
        let exists = |what| !matches!(what, FaultKind::Cancel(run, _) if run >= left);
        without.faults.retain(|fault| exists(fault.kind));
        list.push(without);
    }
    if schedule.network.is_unreliable() {
        let weather = schedule.network.without_losses();
        list.push(Schedule { network: weather, ..schedule.clone() });
    }
    list
}
