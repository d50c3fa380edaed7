//! Rate limits: each client has a token bucket that fills with time, and each request takes a drop out of it.

use std::collections::BTreeMap;

use crate::time::{Span, Time};

/// Units of a drop: buckets fill in whole thousandths.
const REQUEST_COST: u64 = 1_000;

/// The refill rate and the size of buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketRate {
    /// Sustained requests per second. At least one.
    pub per_second: u32,
    /// Requests at once after a pause. At least one.
    pub burst: u32,
}

/// The buckets of all clients.
///
/// A full bucket carries no information and is dropped when there are many. Beyond the maximum number of buckets, all clients
/// without one share a bucket.
#[derive(Clone, Debug)]
pub struct RateBuckets<K> {
    rate: BucketRate,
    most: usize,
    own: BTreeMap<K, RateBucket>,
    shared: RateBucket,
}

#[derive(Clone, Copy, Debug)]
struct RateBucket {
    level: u64,
    at: Time,
}

impl<K: Ord> RateBuckets<K> {
    /// Creates an empty set with this maximum number of buckets.
    pub const fn new(rate: BucketRate, most: usize) -> Self {
        let shared = RateBucket { level: rate.burst as u64 * REQUEST_COST, at: Time::ZERO };
        Self { rate, most, own: BTreeMap::new(), shared }
    }

    /// Takes one drop, or returns how long to wait.
    ///
    /// ```
    /// use windlass_core::rate_limit::{BucketRate, RateBuckets};
    /// use windlass_core::time::{Span, Time};
    ///
    /// let mut buckets = RateBuckets::new(BucketRate { per_second: 10, burst: 2 }, 100);
    /// let now = Time::from_millis(1_000);
    /// assert!(buckets.take("a", now).is_ok() && buckets.take("a", now).is_ok());
    /// assert_eq!(buckets.take("a", now), Err(Span::millis(100)));
    /// assert!(buckets.take("b", now).is_ok());
    /// ```
    pub fn take(&mut self, who: K, now: Time) -> Result<(), Span> {
        self.take_many(who, 1, now)
    }

    /// Takes several drops at once: all of them, or none and returns how long to wait. A number above the size of a bucket counts
    /// as a full bucket, so that every wait ends.
    pub fn take_many(&mut self, who: K, drops: u32, now: Time) -> Result<(), Span> {
        let rate = self.rate;
        if !self.own.contains_key(&who) && self.own.len() >= self.most {
            self.own.retain(|_, bucket| !bucket.is_full(rate, now));
            if self.own.len() >= self.most {
                return self.shared.take(rate, drops, now);
            }
        }
        let full = RateBucket { level: rate.full(), at: now };
        self.own.entry(who).or_insert(full).take(rate, drops, now)
    }
}

impl BucketRate {
    const fn full(self) -> u64 {
        self.burst as u64 * REQUEST_COST
    }
}

impl RateBucket {
    fn take(&mut self, rate: BucketRate, drops: u32, now: Time) -> Result<(), Span> {
        self.level = self.level_at(rate, now);
        self.at = now;
        let wanted = (u64::from(drops) * REQUEST_COST).min(rate.full());
        let Some(left) = self.level.checked_sub(wanted) else {
            let each_second = u64::from(rate.per_second).max(1);
            return Err(Span::millis((wanted - self.level).div_ceil(each_second)));
        };
        self.level = left;
        Ok(())
    }

    /// A bucket gains a thousandth of its rate per millisecond. It gains nothing while a clock is set back.
    fn level_at(&self, rate: BucketRate, now: Time) -> u64 {
        let came = now.since(self.at).as_millis().saturating_mul(u64::from(rate.per_second));
        self.level.saturating_add(came).min(rate.full())
    }

    fn is_full(&self, rate: BucketRate, now: Time) -> bool {
        self.level_at(rate, now) == rate.full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BucketRate = BucketRate { per_second: 10, burst: 5 };

    fn at(millis: u64) -> Time {
        Time::from_millis(1_000_000 + millis)
    }

    /// Returns how many of one request per millisecond are accepted.
    fn let_in(buckets: &mut RateBuckets<u32>, who: u32, millis: std::ops::Range<u64>) -> usize {
        millis.filter(|millis| buckets.take(who, at(*millis)).is_ok()).count()
    }

    #[test]
    fn burst_is_allowed_then_a_steady_rate() {
        let mut buckets = RateBuckets::new(RATE, 10);
        assert_eq!(let_in(&mut buckets, 1, 0..1), 1);
        assert_eq!(let_in(&mut buckets, 1, 1..10_001), 4 + 100);
        assert_eq!(let_in(&mut buckets, 2, 0..1_000), 5 + 9, "others have their own");
    }

    #[test]
    fn client_that_waits_as_told_is_admitted() {
        let mut buckets = RateBuckets::new(RATE, 10);
        let_in(&mut buckets, 1, 0..50);
        let wait = buckets.take(1, at(50)).unwrap_err();
        assert!(buckets.take(1, at(50) + wait.saturating_sub(Span::millis(1))).is_err());
        assert!(buckets.take(1, at(50) + wait).is_ok());
    }

    #[test]
    fn several_drops_are_taken_together_or_not_at_all() {
        let mut buckets = RateBuckets::new(RATE, 10);
        assert!(buckets.take_many(1, 4, at(0)).is_ok());
        assert_eq!(buckets.take_many(1, 3, at(0)), Err(Span::millis(200)));
        assert!(buckets.take(1, at(0)).is_ok(), "the refusal took nothing");
        assert!(buckets.take_many(1, 1_000, at(500)).is_ok(), "a full bucket is enough for any");
    }

    #[test]
    fn a_clock_that_is_set_back_gives_nothing_away() {
        let mut buckets = RateBuckets::new(RATE, 10);
        let_in(&mut buckets, 1, 0..5);
        assert!(buckets.take(1, Time::ZERO).is_err());
        assert!(buckets.take(1, Time::ZERO + Span::millis(100)).is_ok());
    }

    #[test]
    fn many_unknown_clients_share_one_bounded_budget() {
        let mut buckets = RateBuckets::new(RATE, 10);
        let crowd = |buckets: &mut RateBuckets<u32>, now| {
            (100..10_100).filter(|who| buckets.take(*who, now).is_ok()).count()
        };
        assert_eq!(crowd(&mut buckets, at(0)), 10 + 5, "a bucket for ten, one for the rest");
        assert_eq!(buckets.own.len(), 10);
        assert_eq!(crowd(&mut buckets, at(10_000)), 10 + 5, "the ten of before are forgotten");
    }
}
