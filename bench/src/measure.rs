//! Repeats something and takes the time.

use std::time::Duration;

use crate::engine_fleet::now;

/// How long repetitions of one thing took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepeatTimes {
    pub(crate) best: Duration,
    pub(crate) median: Duration,
}

impl RepeatTimes {
    /// The best and the median of so long each.
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

/// Does something several times. What a repetition starts from and what it leaves behind are made and dropped outside
/// the time that is taken.
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

/// How long it took at most in so many of a hundred cases.
pub(crate) fn percentile(took: &[Duration], percent: usize) -> Duration {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}
