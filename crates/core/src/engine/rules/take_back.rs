//! Takes back leases that were granted ahead of slots when another worker could start them at once.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

use super::decide::DecisionDraft;
use crate::engine::event::LeaseEndKind;
use crate::engine::state::engine::Engine;
use crate::id::Fence;
use crate::outcome::{Outcome, OutcomeKind};
use crate::planted_bugs::PlantedBug;
use crate::slab::{ClassIx, LaneIx, LeaseIx, WorkerIx};

/// Leases visited for one exchange of an idle worker; the next exchange continues after them. Every idle worker
/// searches, so without a bound the cost would be the number of idle workers times the number of leases.
const TAKE_BACK_SCANS_MAX: usize = 4096;

impl Engine {
    /// Requests leases for an idle worker from workers that hold more leases than slots and have not started them. They
    /// answer with their next exchange; until then no other worker gets the step.
    pub(in crate::engine) fn request_take_back(&mut self, idle: WorkerIx) {
        if self.ahead.is_empty()
            || !self.workers[idle].has_free_slot()
            || self.workers[idle].want == 0
        {
            return;
        }
        let serves: BTreeSet<ClassIx> = self.workers[idle].classes.iter().copied().collect();
        let mut wanted = (self.workers[idle].slots - self.workers[idle].open()) as usize;
        let mut looks = 0;
        let mut behind = self.take_back_cursor.take();
        while wanted > 0 {
            let holders = (behind.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
            let Some(holder) = self.ahead.range(holders).next().copied() else { break };
            if looks >= TAKE_BACK_SCANS_MAX {
                self.take_back_cursor = behind;
                break;
            }
            looks += 1 + self.workers[holder].leases.len();
            if holder != idle {
                wanted = wanted.saturating_sub(self.request_from_holder(holder, &serves, wanted));
            }
            behind = Some(holder);
        }
        self.queues.scans += looks as u64;
    }

    /// Requests the newest leases that the holder has beyond its slots. Leases requested before count too.
    fn request_from_holder(
        &mut self,
        holder: WorkerIx,
        serves: &BTreeSet<ClassIx>,
        wanted: usize,
    ) -> usize {
        let it = &self.workers[holder];
        let surplus = it.open().saturating_sub(it.slots) as usize;
        let may_ask = it.leases.iter().filter(|lease| self.may_take_back(**lease, serves));
        let mut leases: Vec<(Reverse<Fence>, LeaseIx)> =
            may_ask.map(|lease| (Reverse(self.leases[*lease].fence), *lease)).collect();
        keep_least(&mut leases, surplus);
        let found = leases.len();
        leases.retain(|(_, lease)| !self.leases[*lease].asked_back);
        let reclaimed = found - leases.len();
        keep_least(&mut leases, wanted.saturating_sub(reclaimed));
        for (_, lease) in &leases {
            self.leases[*lease].asked_back = true;
            self.notify.insert(holder);
        }
        reclaimed + leases.len()
    }

    /// Requests all leases that a draining worker has not started.
    pub(in crate::engine) fn request_all_back(&mut self, holder: WorkerIx) {
        for lease in self.workers[holder].leases.clone() {
            let is_current = self.is_of_current_incarnation(lease);
            let lease = &mut self.leases[lease];
            lease.asked_back = is_current && lease.started_at.is_none() && lease.stop.is_none();
        }
        self.notify.insert(holder);
    }

    /// Returns whether a lease is not known to have started, belongs to one of these classes, and was granted ahead.
    fn may_take_back(&self, lease: LeaseIx, serves: &BTreeSet<ClassIx>) -> bool {
        let lease = &self.leases[lease];
        if lease.started_at.is_some()
            || lease.stop.is_some()
            || lease.incarnation != self.workers[lease.worker].incarnation
        {
            return false;
        }
        let run = &self.runs[lease.run];
        let lane = run.plan.spec_index(lease.step).and_then(|spec| run.lane_of(spec));
        let is_served = |lane: LaneIx| serves.contains(&self.queues.lanes[lane].key.class);
        lane.is_some_and(is_served) && run.spec(lease.step).may_lease_ahead()
    }

    /// The planted bug that does not wait for the answer of the holder.
    pub(in crate::engine) fn take_back_at_once(&mut self, out: &mut DecisionDraft) {
        if !self.config.bugs.on(PlantedBug::TakenBackWhileStarting) {
            return;
        }
        for lease in self.leases.indices() {
            if self.leases[lease].asked_back {
                self.end_lease(
                    out,
                    lease,
                    Outcome::plain(OutcomeKind::Released),
                    LeaseEndKind::GivenUp,
                );
            }
        }
    }
}

/// Keeps the `most` smallest elements, in no order and in linear time.
fn keep_least<T: Ord>(items: &mut Vec<T>, most: usize) {
    if most < items.len() {
        items.select_nth_unstable(most);
        items.truncate(most);
    }
}
