//! Repeats something and takes the time.

use std::time::Duration;

use crate::fleet::now;

/// How long repetitions of one thing took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) best: Duration,
    pub(crate) median: Duration,
}

impl Times {
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
) -> Times {
    let mut took: Vec<Duration> = Vec::with_capacity(times);
    for _ in 0..times {
        let start = prepare();
        let began = now();
        let end = run(start);
        took.push(began.elapsed());
        drop(end);
    }
    took.sort_unstable();
    Times { best: took[0], median: took[times / 2] }
}
