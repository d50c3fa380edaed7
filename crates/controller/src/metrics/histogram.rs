//! How many were up to how large, counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Up to a microsecond: a decision on a request that changes nothing. Up to ten seconds: a disk that hangs. Times four each.
const NANOS: &[u64] = &[
    1_000,
    4_000,
    16_000,
    64_000,
    256_000,
    1_000_000,
    4_000_000,
    16_000_000,
    64_000_000,
    256_000_000,
    1_000_000_000,
    4_000_000_000,
    16_000_000_000,
    64_000_000_000,
];

/// One event, and as many as gather behind an append at most.
const COUNTS: &[u64] = &[1, 2, 4, 16, 64, 256, 1_024, 4_096, 16_384];

const NANOS_A_SECOND: u64 = 1_000_000_000;

/// How many were up to how large.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// What a bound is divided by where it is shown.
    unit: u64,
    /// How many were up to each bound and above the one before; the last: above all.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// What a histogram says at a moment.
#[derive(Debug)]
pub(super) struct HistogramSnapshot {
    /// Each bound, with how many were up to it.
    pub(super) buckets: Vec<(String, u64)>,
    pub(super) count: u64,
    pub(super) sum: String,
}

impl Histogram {
    /// One of durations.
    pub fn of_seconds() -> Self {
        Self::new(NANOS, NANOS_A_SECOND)
    }

    /// One of numbers of things.
    pub fn of_counts() -> Self {
        Self::new(COUNTS, 1)
    }

    fn new(bounds: &'static [u64], unit: u64) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, unit, buckets, sum: AtomicU64::new(0) }
    }

    /// Something took so long.
    pub fn observe_duration(&self, took: Duration) {
        self.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// There were so many of something.
    pub fn observe_count(&self, count: usize) {
        self.add(count as u64);
    }

    fn add(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        // Nothing else is read by what is seen here: the order does not matter.
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What it says now. The count is that of the buckets, so that they agree whatever is noted meanwhile.
    pub(super) fn read(&self) -> HistogramSnapshot {
        let mut count = 0;
        let mut up_to = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let bounds = self.bounds.iter().map(|bound| self.shown(*bound));
        let buckets = bounds.zip(up_to.by_ref()).collect();
        let count = up_to.next().expect("there is one bucket more than bounds");
        HistogramSnapshot { buckets, count, sum: self.shown(self.sum.load(Ordering::Relaxed)) }
    }

    /// A value in its unit, without rounding.
    fn shown(&self, value: u64) -> String {
        let (whole, part) = (value / self.unit, value % self.unit);
        if part == 0 {
            return whole.to_string();
        }
        let digits = self.unit.ilog10() as usize;
        format!("{whole}.{part:0digits$}").trim_end_matches('0').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_seconds() {
        let histogram = Histogram::of_seconds();
        histogram.observe_duration(Duration::from_micros(1));
        histogram.observe_duration(Duration::from_millis(1_500));
        let seen = histogram.read();
        assert_eq!(seen.buckets[0], ("0.000001".to_owned(), 1));
        assert_eq!(seen.buckets[10], ("1".to_owned(), 1));
        assert_eq!(seen.buckets[11], ("4".to_owned(), 2));
        assert_eq!((seen.count, &*seen.sum), (2, "1.500001"));
    }
}
