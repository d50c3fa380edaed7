//! The ledger: a page for every key that somebody is at, or that something is on record for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::record::IdempotencyRecord;
use crate::id::StepIx;
use crate::slab::RunIx;
use crate::time::{Span, Time};

/// Records that are kept. A thousand deployments a day for three months, and a snapshot stays small.
pub const KEYS_MAX: usize = 100_000;

/// Bytes of keys and outputs that are kept with them: outputs may have 64 KiB each.
pub const KEYS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long a record counts. Who repeats a deployment after a month means it.
pub const KEY_AGE: Span = Span::hours(30 * 24);

/// Bytes of a record beside its texts, about.
const RECORD_FRAME: usize = 96;

/// A step of a run that the engine has: the run's index and the step's index.
pub(crate) type IdempotentStep = (RunIx, StepIx);

/// Everything that is known of keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IdempotencyLedger {
    pages: BTreeMap<Arc<str>, IdempotencySlot>,
    /// Pages with a record, oldest first.
    by_age: BTreeSet<(Time, Arc<str>)>,
    /// Bytes of all records.
    bytes: usize,
    /// The key that a step is at or stands in line for.
    bound: BTreeMap<IdempotentStep, Arc<str>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct IdempotencySlot {
    /// Who is at it, and since when.
    holder: Option<(IdempotentStep, Time)>,
    line: VecDeque<IdempotencyWaiter>,
    record: Option<IdempotencyRecord>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct IdempotencyWaiter {
    place: IdempotentStep,
    /// It does not want what is on record.
    again: bool,
}

/// What a step finds that asks for a key.
#[derive(Debug)]
pub(crate) enum IdempotencyLookup<'a> {
    /// It is this step's to do.
    Free,
    /// It was done.
    Recorded(&'a IdempotencyRecord),
    /// Another step is at it, or stands before this one.
    Awaited(IdempotentStep),
}

/// A key, as others see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdempotencyEntry<'a> {
    pub(crate) key: &'a Arc<str>,
    pub(crate) holder: Option<(IdempotentStep, Time)>,
    pub(crate) waiting: usize,
    pub(crate) record: Option<&'a IdempotencyRecord>,
}

impl IdempotencySlot {
    fn reusable_record(&self, now: Time) -> Option<&IdempotencyRecord> {
        self.record
            .as_ref()
            .filter(|record| record.is_success() && now.since(record.origin.at) < KEY_AGE)
    }

    /// Who does it next: the first in line that what is on record does not serve.
    fn next(&self, now: Time) -> Option<IdempotentStep> {
        let done = self.reusable_record(now).is_some();
        let mut line = self.line.iter().filter(|waiter| waiter.again || !done);
        line.next().filter(|_| self.holder.is_none()).map(|waiter| waiter.place)
    }

    fn is_unused(&self) -> bool {
        self.holder.is_none() && self.line.is_empty() && self.record.is_none()
    }
}

impl IdempotencyLedger {
    /// What a step finds that asks for a key; `again`: it does not want what is on record.
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

    /// A step is at it from now on.
    pub(crate) fn acquire(&mut self, key: &str, place: IdempotentStep, now: Time) {
        self.unbind(place);
        let key = self.intern_key(key);
        self.pages.entry(Arc::clone(&key)).or_default().holder = Some((place, now));
        self.bound.insert(place, key);
    }

    /// A step stands in line.
    pub(crate) fn enqueue(&mut self, key: &str, place: IdempotentStep, again: bool) {
        self.unbind(place);
        let key = self.intern_key(key);
        let page = self.pages.entry(Arc::clone(&key)).or_default();
        page.line.push_back(IdempotencyWaiter { place, again });
        self.bound.insert(place, key);
    }

    /// A step has ended that was at a key or in line for one; what came of it is kept if it was at it. Returns the key.
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
            // A success stays on record though a later try failed.
            if record.is_success() || !stands {
                self.store_record(&key, record);
            }
            self.forget_old(now);
        }
        Some(key)
    }

    /// Steps that are to ask again: all that what is on record serves, and who does it next.
    pub(crate) fn unblocked(&self, key: &str, now: Time) -> Vec<IdempotentStep> {
        let Some(page) = self.pages.get(key) else { return Vec::new() };
        let done = page.reusable_record(now).is_some();
        let served = page.line.iter().filter(|waiter| done && !waiter.again);
        served.map(|waiter| waiter.place).chain(page.next(now)).collect()
    }

    /// The key that a step stands in line for, and who is at it.
    pub(crate) fn awaited_key(
        &self,
        place: IdempotentStep,
    ) -> Option<(&Arc<str>, Option<IdempotentStep>)> {
        let key = self.bound.get(&place).filter(|_| !self.holds(place))?;
        Some((key, self.pages.get(key)?.holder.map(|(holder, _)| holder)))
    }

    /// Every key, sorted; all of them, or those behind one.
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

    /// Steps that stand in line, with whether they are at it.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = (IdempotentStep, bool)> {
        self.bound.keys().map(|place| (*place, self.holds(*place)))
    }

    /// What of its own order does not hold, for the invariants.
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

    fn holds(&self, place: IdempotentStep) -> bool {
        let page = self.bound.get(&place).and_then(|key| self.pages.get(key));
        page.and_then(|page| page.holder).is_some_and(|(holder, _)| holder == place)
    }

    /// The key as it is kept already, so that its text is kept once.
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

impl IdempotencySlot {
    fn steps(&self) -> usize {
        self.line.len() + usize::from(self.holder.is_some())
    }
}

fn size(key: &str, record: Option<&IdempotencyRecord>) -> usize {
    record.map_or(0, |record| {
        key.len() + record.origin.name.len() + record.output.len() + RECORD_FRAME
    })
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
    fn the_oldest_go_when_there_are_too_many() {
        let mut ledger = IdempotencyLedger::default();
        for n in 0..=KEYS_MAX as u64 {
            record(&mut ledger, &n.to_string(), done(Time::from_millis(n), StepOutput::None));
        }
        let now = Time::from_millis(KEYS_MAX as u64);
        assert!(!is_recorded(&ledger, "0", now) && is_recorded(&ledger, "1", now));
        assert_eq!((ledger.pages.len(), ledger.inconsistency()), (KEYS_MAX, None));
    }

    #[test]
    fn the_oldest_go_when_their_outputs_are_too_large() {
        let mut ledger = IdempotencyLedger::default();
        let large: Arc<str> = "x".repeat(64 * 1024).into();
        for n in 0..600 {
            let output = StepOutput::Inline(Arc::clone(&large));
            record(&mut ledger, &n.to_string(), done(Time::from_millis(n), output));
        }
        assert!((500..512).contains(&ledger.pages.len()), "{}", ledger.pages.len());
        assert!(is_recorded(&ledger, "599", Time::from_millis(600)));
        assert_eq!(ledger.inconsistency(), None);
    }

    #[test]
    fn a_record_counts_for_a_month() {
        let mut ledger = IdempotencyLedger::default();
        record(&mut ledger, "k", done(Time::ZERO, StepOutput::None));
        let month = Time::ZERO + KEY_AGE;
        assert!(is_recorded(&ledger, "k", Time::from_millis(month.as_millis() - 1)));
        assert!(!is_recorded(&ledger, "k", month));
        record(&mut ledger, "other", done(month, StepOutput::None));
        assert_eq!(ledger.pages.len(), 1, "what does not count any more is not kept either");
    }
}
