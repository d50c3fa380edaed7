//! Makes a failing schedule short.

use windlass_core::planted::Bugs;

use super::schedule::Schedule;
use super::world::{Report, World};

/// Leaves out faults and runs one by one while the same rule still breaks. The result is the shortest story found.
pub fn shrink(schedule: &Schedule, bugs: Bugs) -> (Schedule, Report) {
    let mut best = (schedule.clone(), World::new(schedule, bugs, true).play());
    let rule = best.1.violation.as_ref().map(|violation| violation.rule);
    loop {
        let smaller = candidates(&best.0).into_iter().find_map(|candidate| {
            let report = World::new(&candidate, bugs, true).play();
            let broken = report.violation.as_ref().map(|violation| violation.rule);
            (broken.is_some() && broken == rule).then_some((candidate, report))
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

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
        without.faults.retain(|fault| {
            !matches!(fault.what, super::schedule::FaultKind::Cancel(run, _) if run >= without.runs.len())
        });
        list.push(without);
    }
    if schedule.weather.loss_per_mille
        + schedule.weather.twice_per_mille
        + schedule.weather.straggle_per_mille
        > 0
    {
        let mut calm = schedule.clone();
        (
            calm.weather.loss_per_mille,
            calm.weather.twice_per_mille,
            calm.weather.straggle_per_mille,
        ) = (0, 0, 0);
        list.push(calm);
    }
    list
}
