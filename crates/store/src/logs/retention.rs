//! Decides which logs are removed because of their size or age.

use windlass_core::id::RunId;
use windlass_core::time::{Span, Time};

/// The limits of kept logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRetention {
    /// Maximum bytes of all logs together.
    pub bytes_max: u64,
    /// Maximum age of a run's logs, from its submission.
    pub age_max: Span,
}

/// Returns the runs whose logs are removed, oldest first: those beyond the maximum age, then the oldest until the rest
/// fits. `runs` is the result of [`LogStore::runs`](super::LogStore::runs), in any order, without active runs.
pub fn expired_runs(runs: &[(RunId, u64)], now: Time, rule: LogRetention) -> Vec<RunId> {
    let mut newest_first = runs.to_vec();
    newest_first.sort_unstable_by_key(|(run, _)| std::cmp::Reverse(*run));
    // A run's id begins with the time of its submission.
    let oldest = RunId::new((now - rule.age_max).as_millis(), 0);
    let mut bytes = 0_u64;
    let kept = newest_first.iter().take_while(|(run, size)| {
        bytes = bytes.saturating_add(*size);
        *run >= oldest && bytes <= rule.bytes_max
    });
    let kept = kept.count();
    newest_first[kept..].iter().rev().map(|(run, _)| *run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_790_000_000_000;

    fn hours_ago(hours: u64) -> RunId {
        RunId::new(NOW - hours * 3_600_000, 5)
    }

    fn expired_in(runs: &[(RunId, u64)], bytes_max: u64, hours: u64) -> Vec<RunId> {
        let rule = LogRetention { bytes_max, age_max: Span::hours(hours) };
        expired_runs(runs, Time::from_millis(NOW), rule)
    }

    #[test]
    fn logs_within_the_limits_are_kept() {
        let runs = [(hours_ago(3), 10), (hours_ago(1), 20), (hours_ago(2), 30)];
        assert_eq!(expired_in(&runs, 60, 3), []);
        assert_eq!(expired_in(&[], 0, 0), []);
    }

    #[test]
    fn logs_beyond_the_maximum_age_are_removed() {
        let runs = [(hours_ago(3), 10), (hours_ago(1), 20), (hours_ago(2), 30)];
        assert_eq!(expired_in(&runs, u64::MAX, 2), [hours_ago(3)]);
        assert_eq!(expired_in(&runs, u64::MAX, 0), [3, 2, 1].map(hours_ago));
    }

    #[test]
    fn oldest_logs_are_removed_until_the_rest_fits() {
        let runs = [(hours_ago(3), 10), (hours_ago(1), 20), (hours_ago(2), 30)];
        assert_eq!(expired_in(&runs, 59, 9), [hours_ago(3)]);
        assert_eq!(expired_in(&runs, 49, 9), [3, 2].map(hours_ago));
        assert_eq!(
            expired_in(&runs, 0, 9),
            [3, 2, 1].map(hours_ago),
            "even the newest, if it alone is too large"
        );
        let huge = [(hours_ago(2), u64::MAX), (hours_ago(1), u64::MAX)];
        assert_eq!(expired_in(&huge, u64::MAX - 1, 9), [2, 1].map(hours_ago));
    }

    #[test]
    fn maximum_age_before_1970_removes_no_logs() {
        assert_eq!(expired_in(&[(RunId(0), 1)], 1, u64::MAX), []);
    }
}
