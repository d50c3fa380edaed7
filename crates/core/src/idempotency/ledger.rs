//! The ledger: an entry for every key that has a record, or that a step holds or waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::idempotency_slot::{IdempotencySlot, IdempotencyWaiter, size};
use super::record::IdempotencyRecord;
use crate::id::StepIx;
use crate::slab::RunIx;
use crate::time::{Span, Time};

/// The most records. This allows a thousand deployments a day for three months, and the snapshot stays small.
pub const KEYS_MAX: usize = 100_000;

/// The most bytes of keys, records and their outputs. One output may have 64 KiB.
pub const KEYS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The time for which a record is reused. A deployment that is repeated after a month is intended to run again.
pub const KEY_AGE: Span = Span::hours(30 * 24);

/// A step of a run in the engine: the run's index and the step's index.
pub(crate) type IdempotentStep = (RunIx, StepIx);

/// All keys of the cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IdempotencyLedger {
    pages: BTreeMap<Arc<str>, IdempotencySlot>,
    /// The entries with a record, oldest first.
    by_age: BTreeSet<(Time, Arc<str>)>,
    /// The bytes of all records.
    bytes: usize,
    /// The key that each step holds or waits for.
    bound: BTreeMap<IdempotentStep, Arc<str>>,
}

/// The answer to a step that requests a key.
#[derive(Debug)]
pub(crate) enum IdempotencyLookup<'a> {
    /// The step can take the key.
    Free,
    /// A success is recorded.
    Recorded(&'a IdempotencyRecord),
    /// Another step holds the key, or is in the queue before this one.
    Awaited(IdempotentStep),
}

/// A key, as the views show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdempotencyEntry<'a> {
    pub(crate) key: &'a Arc<str>,
    pub(crate) holder: Option<(IdempotentStep, Time)>,
    pub(crate) waiting: usize,
    pub(crate) record: Option<&'a IdempotencyRecord>,
}

impl IdempotencyLedger {
    /// Returns the answer to a step that requests a key; `engine/rules/idempotency.rs` acts on it. `again`: the step does
    /// not reuse a record.
    pub(crate) fn look_up(
        &self,
        key: &str,
        (asker, again): (IdempotentStep, bool),
        now: Time,
    ) -> IdempotencyLookup<'_> {
        let Some(page) = self.pages.get(key) else { return IdempotencyLookup::Free };
        if let Some(record) = page.reusable_record(now).filter(|_| !again) {
            return IdempotencyLookup::Recorded(record);
        }
        let before = page.holder.map(|(holder, _)| holder).or_else(|| page.next(now));
        match before.filter(|before| *before != asker) {
            Some(before) => IdempotencyLookup::Awaited(before),
            None => IdempotencyLookup::Free,
        }
    }

    /// Gives the key to a step.
    pub(crate) fn acquire(&mut self, key: &str, place: IdempotentStep, now: Time) {
        self.unbind(place);
        let key = self.intern_key(key);
        self.pages.entry(Arc::clone(&key)).or_default().holder = Some((place, now));
        self.bound.insert(place, key);
    }

    /// Adds a step to the queue of a key.
    pub(crate) fn enqueue(&mut self, key: &str, place: IdempotentStep, again: bool) {
        self.unbind(place);
        let key = self.intern_key(key);
        let page = self.pages.entry(Arc::clone(&key)).or_default();
        page.line.push_back(IdempotencyWaiter { place, again });
        self.bound.insert(place, key);
    }

    /// Removes an ended step from its key and returns the key. If the step held the key, its result is recorded.
    pub(crate) fn release(
        &mut self,
        place: IdempotentStep,
        now: Time,
        record: impl FnOnce() -> IdempotencyRecord,
    ) -> Option<Arc<str>> {
        let at_it = self.holds(place);
        let key = self.unbind(place)?;
        if at_it {
            let record = record();
            let stands = self.pages.get(&key).and_then(|page| page.reusable_record(now)).is_some();
            // A recorded success is kept, even if a later attempt fails.
            if record.is_success() || !stands {
                self.store_record(&key, record);
            }
            self.forget_old(now);
        }
        Some(key)
    }

    /// Removes the steps of a run from their keys without a result, and returns the keys.
    pub(crate) fn withdraw_run(&mut self, run: RunIx) -> BTreeSet<Arc<str>> {
        let of_run = self.bound.keys().filter(|(of, _)| *of == run);
        let places: Vec<IdempotentStep> = of_run.copied().collect();
        places.into_iter().filter_map(|place| self.unbind(place)).collect()
    }

    /// Returns the steps that request the key again: all that can reuse the record, and the step that takes the key
    /// next.
    pub(crate) fn unblocked(&self, key: &str, now: Time) -> Vec<IdempotentStep> {
        let Some(page) = self.pages.get(key) else { return Vec::new() };
        let done = page.reusable_record(now).is_some();
        let served = page.line.iter().filter(|waiter| done && !waiter.again);
        served.map(|waiter| waiter.place).chain(page.next(now)).collect()
    }

    /// Returns the key that a step waits for, and the step that holds it.
    pub(crate) fn awaited_key(
        &self,
        place: IdempotentStep,
    ) -> Option<(&Arc<str>, Option<IdempotentStep>)> {
        let key = self.bound.get(&place).filter(|_| !self.holds(place))?;
        Some((key, self.pages.get(key)?.holder.map(|(holder, _)| holder)))
    }

    /// Returns the keys in order: all of them, or those after a given key.
    pub(crate) fn entries(
        &self,
        behind: Option<&str>,
    ) -> impl Iterator<Item = IdempotencyEntry<'_>> {
        let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
        self.pages.range::<str, _>((from, Bound::Unbounded)).map(|(key, page)| IdempotencyEntry {
            key,
            holder: page.holder,
            waiting: page.line.len(),
            record: page.record.as_ref(),
        })
    }

    /// Returns the steps that have a key, and whether each holds it.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = (IdempotentStep, bool)> {
        self.bound.keys().map(|place| (*place, self.holds(*place)))
    }

    /// Returns a description of the first inconsistency, for the invariants.
    pub(crate) fn inconsistency(&self) -> Option<String> {
        let steps: usize = self.pages.values().map(IdempotencySlot::steps).sum();
        let size: usize =
            self.pages.iter().map(|(key, page)| size(key, page.record.as_ref())).sum();
        let records = self.pages.values().filter(|page| page.record.is_some()).count();
        let blank = self.pages.iter().find(|(_, page)| page.is_unused());
        let bounds = self.by_age.len() <= KEYS_MAX && self.bytes <= KEYS_BYTES_MAX;
        let counts = (steps, size, records) == (self.bound.len(), self.bytes, self.by_age.len());
        (!counts || !bounds || blank.is_some()).then(|| {
            format!(
                "{steps} steps of {}, {size} bytes of {}, {records} records of {}, blank {blank:?}",
                self.bound.len(),
                self.bytes,
                self.by_age.len()
            )
        })
    }

    /// Returns whether a step holds its key.
    pub(crate) fn holds(&self, place: IdempotentStep) -> bool {
        let page = self.bound.get(&place).and_then(|key| self.pages.get(key));
        page.and_then(|page| page.holder).is_some_and(|(holder, _)| holder == place)
    }

    /// Returns the stored copy of a key, so that its text is in memory once.
    fn intern_key(&self, key: &str) -> Arc<str> {
        self.pages.get_key_value(key).map_or_else(|| key.into(), |(known, _)| Arc::clone(known))
    }

    fn unbind(&mut self, place: IdempotentStep) -> Option<Arc<str>> {
        let key = self.bound.remove(&place)?;
        let page = self.pages.get_mut(&key)?;
        page.holder = page.holder.filter(|(holder, _)| *holder != place);
        page.line.retain(|waiter| waiter.place != place);
        if page.is_unused() {
            self.pages.remove(&key);
        }
        Some(key)
    }

    fn store_record(&mut self, key: &Arc<str>, record: IdempotencyRecord) {
        self.forget(key);
        self.bytes += size(key, Some(&record));
        self.by_age.insert((record.origin.at, Arc::clone(key)));
        self.pages.entry(Arc::clone(key)).or_default().record = Some(record);
    }

    fn forget(&mut self, key: &Arc<str>) {
        let Some(page) = self.pages.get_mut(key) else { return };
        let Some(record) = page.record.take() else { return };
        self.bytes -= size(key, Some(&record));
        self.by_age.remove(&(record.origin.at, Arc::clone(key)));
        if page.is_unused() {
            self.pages.remove(key);
        }
    }

    fn forget_old(&mut self, now: Time) {
        while let Some((at, key)) = self.by_age.first() {
            let many = self.by_age.len() > KEYS_MAX || self.bytes > KEYS_BYTES_MAX;
            if !many && now.since(*at) < KEY_AGE {
                return;
            }
            let key = Arc::clone(key);
            self.forget(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::IdempotencyOrigin;
    use super::*;
    use crate::id::RunId;
    use crate::outcome::{StepOutput, StepStatus};
    use crate::slab::SlabIndex;

    fn done(at: Time, output: StepOutput) -> IdempotencyRecord {
        let origin =
            IdempotencyOrigin { run: RunId(1), step: StepIx(0), name: "deploy".into(), at };
        IdempotencyRecord { origin, status: StepStatus::Succeeded, output }
    }

    fn step_of_run(run: usize, step: u32) -> IdempotentStep {
        (RunIx::from_position(run), StepIx(step))
    }

    fn record(ledger: &mut IdempotencyLedger, key: &str, record: IdempotencyRecord) {
        ledger.acquire(key, step_of_run(0, 0), record.origin.at);
        ledger.release(step_of_run(0, 0), record.origin.at, || record);
    }

    fn is_recorded(ledger: &IdempotencyLedger, key: &str, now: Time) -> bool {
        matches!(
            ledger.look_up(key, (step_of_run(1, 1), false), now),
            IdempotencyLookup::Recorded(_)
        )
    }

    #[test]
    fn oldest_records_are_forgotten_above_the_number_limit() {
        let mut ledger = IdempotencyLedger::default();
        for n in 0..=KEYS_MAX as u64 {
            record(&mut ledger, &n.to_string(), done(Time::from_millis(n), StepOutput::NONE));
        }
        let now = Time::from_millis(KEYS_MAX as u64);
        assert!(!is_recorded(&ledger, "0", now) && is_recorded(&ledger, "1", now));
        assert_eq!((ledger.pages.len(), ledger.inconsistency()), (KEYS_MAX, None));
    }

    #[test]
    fn oldest_records_are_forgotten_above_the_byte_limit() {
        let mut ledger = IdempotencyLedger::default();
        let large: Arc<str> = "x".repeat(64 * 1024).into();
        for n in 0..600 {
            let output = StepOutput::inline(Arc::clone(&large));
            record(&mut ledger, &n.to_string(), done(Time::from_millis(n), output));
        }
        assert!((500..512).contains(&ledger.pages.len()), "{}", ledger.pages.len());
        assert!(is_recorded(&ledger, "599", Time::from_millis(600)));
        assert_eq!(ledger.inconsistency(), None);
    }

    #[test]
    fn record_is_reused_for_a_month() {
        let mut ledger = IdempotencyLedger::default();
        record(&mut ledger, "k", done(Time::ZERO, StepOutput::NONE));
        let month = Time::ZERO + KEY_AGE;
        assert!(is_recorded(&ledger, "k", Time::from_millis(month.as_millis() - 1)));
        assert!(!is_recorded(&ledger, "k", month));
        record(&mut ledger, "other", done(month, StepOutput::NONE));
        assert_eq!(ledger.pages.len(), 1, "an expired record is removed");
    }
}
