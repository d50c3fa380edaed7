//! The share and utilization of each worker of a run.

use std::collections::BTreeMap;

use super::run_summary::RunSummary;
use crate::id::WorkerId;
use crate::time::{Span, Time};

/// The share of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerShare<'a> {
    /// The name of the worker.
    pub worker: &'a str,
    /// Deliveries that it began or may have begun.
    pub deliveries: u32,
    /// The total time that its slots were busy.
    pub busy: Span,
    /// The utilization of its slots in percent, from its registration to the end of the run; `None` if unknown.
    pub percent: Option<u64>,
}

impl RunSummary {
    /// Sets the slots of a worker and since when.
    pub fn set_worker_slots(&mut self, id: WorkerId, slots: u32, since: Time) {
        if let Some(known) = self.workers.iter_mut().find(|known| known.id == id) {
            // It may have registered before; its earlier work counts as well.
            let since = known.slots.map_or(since, |(_, before)| before.min(since));
            known.slots = Some((slots, since));
        }
    }

    /// Returns the total slots of the known workers; `None` if unknown for all.
    pub fn slots(&self) -> Option<u32> {
        let slots = self.workers.iter().filter_map(|known| known.slots);
        slots.map(|(slots, _)| slots).reduce(u32::saturating_add)
    }

    /// Returns the shares of all workers that held a step, by name.
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
