//! The books of the witness after the store has lost a part of its history.

use windlass_core::engine::LeaseEndKind;
use windlass_core::outcome::OutcomeKind;

use super::records::CommittedEvent;
use super::state::{BrokenRule, SimWitness, WitnessLease};
use crate::sim::coverage_marks::CoverageMarks;
use crate::sim::journal::SimRecord;
use crate::sim::schedule::Schedule;

impl SimWitness {
    /// Restarts the books from the rest of the journal. The real facts remain: which processes run, which were started,
    /// what was reported. A lost lease remains known, because its process may still run.
    pub(crate) fn rolled_back(
        &mut self,
        schedule: &Schedule,
        records: &[SimRecord],
    ) -> Result<(), BrokenRule> {
        let mut books = Self::new(schedule);
        books.reports = std::mem::take(&mut self.reports);
        books.deliveries = std::mem::take(&mut self.deliveries);
        books.started = std::mem::take(&mut self.started);
        let mut marks = CoverageMarks::default();
        for record in records {
            let term = match record.event {
                windlass_core::engine::Event::Led(windlass_core::engine::event::Led {
                    term,
                    ..
                }) => term,
                _ => books.term,
            };
            let committed = CommittedEvent {
                term,
                current: term,
                at: record.at,
                truth: record.truth,
                event: &record.event,
            };
            books.commit(&committed, &mut marks)?;
        }
        let before = std::mem::replace(self, books);
        self.disputed = before.disputed;
        self.disputed.extend(before.leases.keys());
        for (fence, lease) in before.leases {
            let end = Some((LeaseEndKind::GivenUp, OutcomeKind::Lost));
            self.leases.entry(fence).or_insert(WitnessLease { end, ..lease });
        }
        for (worker, book) in before.workers {
            // A worker that registered in the lost part is unknown to everything until it registers again.
            if let std::collections::btree_map::Entry::Vacant(unknown) = self.workers.entry(worker)
            {
                unknown.insert(book);
                self.lost.insert(worker);
            }
        }
        self.term = before.term;
        // A lost generation may be used again: workers that hold its leases report it.
        if before.fences.generation() == self.fences.generation() {
            self.fences = before.fences;
        }
        (self.alive, self.frozen) = (before.alive, before.frozen);
        Ok(())
    }
}
