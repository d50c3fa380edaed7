//! Repeats a call and measures its duration.

use std::time::Duration;

use crate::engine_fleet::now;

/// The durations of repeated calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepeatTimes {
    pub(crate) best: Duration,
    pub(crate) median: Duration,
}

impl RepeatTimes {
    /// The best and the median of these durations.
    pub(crate) fn of(mut took: Vec<Duration>) -> Self {
        took.sort_unstable();
        Self { best: took[0], median: took[took.len() / 2] }
    }

    /// In microseconds: the best and the median.
    pub(crate) fn micros(self) -> (f64, f64) {
        self.nanos_each(1e3)
    }

    /// How many per second, if each repetition did `count`: the best and the median.
    pub(crate) fn per_second(self, count: f64) -> (f64, f64) {
        let rate = |took: Duration| count / took.as_secs_f64();
        (rate(self.best), rate(self.median))
    }

    /// Nanoseconds for each of `count`: the best and the median.
    pub(crate) fn nanos_each(self, count: f64) -> (f64, f64) {
        let each = |took: Duration| took.as_secs_f64() * 1e9 / count;
        (each(self.best), each(self.median))
    }
}

/// Repeats a call. Its preparation and the drop of its result are not measured.
pub(crate) fn repeat<S, T>(
    times: usize,
    mut prepare: impl FnMut() -> S,
    mut run: impl FnMut(S) -> T,
) -> RepeatTimes {
    let mut took: Vec<Duration> = Vec::with_capacity(times);
    for _ in 0..times {
        let start = prepare();
        let began = now();
        let end = run(start);
        took.push(began.elapsed());
        drop(end);
    }
    RepeatTimes::of(took)
}

/// Returns a percentile of the durations.
pub(crate) fn percentile(took: &[Duration], percent: usize) -> Duration {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}
