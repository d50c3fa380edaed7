//! Histograms that are updated without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// From a microsecond, for a decision that changes nothing, to ten seconds, for a disk that hangs. Each bound is four
/// times the one before.
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

/// From one event to the largest number of events that gather behind an append.
const COUNTS: &[u64] = &[1, 2, 4, 16, 64, 256, 1_024, 4_096, 16_384];

const NANOS_A_SECOND: u64 = 1_000_000_000;

/// A histogram of durations or counts.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// The divisor of a bound where it is shown.
    unit: u64,
    /// The number of values up to each bound and above the one before. The last bucket has no bound.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// The values of a histogram at one moment.
#[derive(Debug)]
pub(super) struct HistogramSnapshot {
    /// Each bound, with the number of values up to it.
    pub(super) buckets: Vec<(String, u64)>,
    pub(super) count: u64,
    pub(super) sum: String,
}

impl Histogram {
    /// Returns a histogram of durations.
    pub fn of_seconds() -> Self {
        Self::new(NANOS, NANOS_A_SECOND)
    }

    /// Returns a histogram of counts.
    pub fn of_counts() -> Self {
        Self::new(COUNTS, 1)
    }

    fn new(bounds: &'static [u64], unit: u64) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, unit, buckets, sum: AtomicU64::new(0) }
    }

    /// Adds a duration.
    pub fn observe_duration(&self, took: Duration) {
        self.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds a count.
    pub fn observe_count(&self, count: usize) {
        self.add(count as u64);
    }

    fn add(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        // No other value is read together with this one, so the order does not matter.
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Returns the values. The count is the sum of the buckets, so that they agree while values are added.
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

    /// Formats a value in its unit, without rounding.
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
