//! Which interrupted runs can be resumed.

use crate::id::RunId;
use crate::time::{Span, Time};

/// The number of interrupted runs that can be resumed. A user remembers the last few, and each keeps its folder, its
/// events and its logs.
pub const RESUMABLE_RUNS_MAX: usize = 20;

/// The time for which an interrupted run can be resumed. The files that its steps left behind have changed after that.
pub const RESUMABLE_AGE: Span = Span::hours(30 * 24);

/// Returns the runs that can be resumed, of those that are interrupted, newest interruption first.
pub fn resumable_runs(
    interrupted: impl IntoIterator<Item = (Time, RunId)>,
    now: Time,
) -> Vec<RunId> {
    let recent = interrupted.into_iter().filter(|(at, _)| now.since(*at) <= RESUMABLE_AGE);
    let mut recent: Vec<(Time, RunId)> = recent.collect();
    recent.sort_unstable_by(|a, b| b.cmp(a));
    recent.truncate(RESUMABLE_RUNS_MAX);
    recent.into_iter().map(|(_, run)| run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_runs_of_the_last_month_are_resumable() {
        let now = Time::ZERO + RESUMABLE_AGE + Span::hours(100);
        let hours = |ago: u64| now - Span::hours(ago);
        let interrupted = (0..30).map(|hour| (hours(hour * 30), RunId(hour)));
        let found = resumable_runs(interrupted, now);
        assert_eq!(found, (0..20).map(RunId).collect::<Vec<RunId>>(), "twenty");
        let old = [(hours(30 * 24), RunId(1)), (hours(30 * 24 + 1), RunId(2))];
        assert_eq!(resumable_runs(old, now), [RunId(1)], "thirty days");
    }
}
