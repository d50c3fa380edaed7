//! What each worker did of a run, and how much of its time that took.

use std::collections::BTreeMap;

use super::run_summary::RunSummary;
use crate::id::WorkerId;
use crate::time::{Span, Time};

/// What one worker did of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerShare<'a> {
    /// Its name.
    pub worker: &'a str,
    /// Hand-outs that it began, or may have.
    pub deliveries: u32,
    /// How long its slots were taken by them, all together.
    pub busy: Span,
    /// Of a hundred parts of the time that its slots had, how many that is: from when it came to the end of the run. Not
    /// known where only its name is.
    pub percent: Option<u64>,
}

impl RunSummary {
    /// Says how many steps a worker runs at a time, and since when it does.
    pub fn set_worker_slots(&mut self, id: WorkerId, slots: u32, since: Time) {
        if let Some(known) = self.workers.iter_mut().find(|known| known.id == id) {
            // It may have been here before; what it did then counts as well.
            let since = known.slots.map_or(since, |(_, before)| before.min(since));
            known.slots = Some((slots, since));
        }
    }

    /// How many steps the workers that are known run at a time; nothing if that is not known of any.
    pub fn slots(&self) -> Option<u32> {
        let slots = self.workers.iter().filter_map(|known| known.slots);
        slots.map(|(slots, _)| slots).reduce(u32::saturating_add)
    }

    /// The share of every worker that held a step, by name.
    pub fn worker_shares(&self, now: Time) -> Vec<WorkerShare<'_>> {
        let end = self.ended_at.unwrap_or(now);
        let mut shares: BTreeMap<u32, (u32, Span)> =
            self.workers_met.iter().map(|place| (*place, (0, Span::ZERO))).collect();
        for record in &self.records {
            let (tries, busy) = shares.entry(record.worker).or_default();
            let one = self.delivery_of(record);
            *tries += u32::from(one.has_begun());
            *busy = *busy + one.time(end);
        }
        let share = |(place, (tries, busy)): (u32, (u32, Span))| {
            let known = self.workers.get(place as usize)?;
            let percent = known.slots.and_then(|(slots, since)| {
                let there = end.since(since.max(self.submitted_at)).as_millis() * u64::from(slots);
                (there > 0).then(|| (busy.as_millis() * 100 / there).min(100))
            });
            Some(WorkerShare { worker: &known.name, deliveries: tries, busy, percent })
        };
        let mut shares: Vec<WorkerShare<'_>> = shares.into_iter().filter_map(share).collect();
        shares.sort_by_key(|share| share.worker);
        shares
    }
}
