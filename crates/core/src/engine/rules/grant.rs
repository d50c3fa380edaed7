//! Decides which step goes to which worker.

use std::cmp::Reverse;

use super::decide::DecisionDraft;
use crate::engine::config::{
    AVOID_WORKER_WAIT, GRANT_FRAME, REPLY_GRANT_BYTES_MAX, SINGLE_GRANT_BYTES_MAX,
};
use crate::engine::event::{self, StepSettlement};
use crate::engine::queue::lane::{LanePosition, LaneRank, QueuedStep};
use crate::engine::state::engine::Engine;
use crate::engine::state::worker::WorkerStatus;
use crate::id::Fence;
use crate::planted_bugs::PlantedBug;
use crate::session::{ExchangeReplyBody, LeaseGrant, LeaseRef};
use crate::slab::{ClassIx, LaneIx, LeaseIx, WorkerIx};

/// Whether a worker may get a step before it has a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum GrantReach {
    /// Only steps for free slots.
    Slots,
    /// Also steps ahead of free slots.
    Ahead,
}

/// The order of the best lanes of several classes: by rank; between equals, the class that the fewest workers serve
/// first.
type GrantUrgency = (i64, Reverse<u32>, u32, u64);

/// The grants of a reply, and their size.
///
/// Every reply repeats all grants that the worker has not acknowledged. Nothing is granted that does not fit beside
/// them, so a reply with repeated grants is never too large.
#[derive(Default)]
struct GrantLoad {
    grants: Vec<LeaseGrant>,
    bytes: usize,
}

impl GrantLoad {
    fn of(grants: Vec<LeaseGrant>) -> Self {
        let bytes = grants.iter().map(grant_bytes).sum();
        Self { grants, bytes }
    }

    fn push(&mut self, grant: LeaseGrant) {
        self.bytes += grant_bytes(&grant);
        self.grants.push(grant);
    }
}

/// Returns the bytes that a grant takes in a reply.
fn grant_bytes(grant: &LeaseGrant) -> usize {
    let values = grant.values.as_ref().map_or(0, |values| values.len());
    grant.name.len() + grant.work.len() + values + GRANT_FRAME
}

impl Engine {
    /// Grants a worker the steps that it requests and may have, in answer to its newest exchange.
    pub(in crate::engine) fn fill_reply(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        body: &mut ExchangeReplyBody,
        reach: GrantReach,
    ) {
        let mut load = GrantLoad::of(std::mem::take(&mut body.grants));
        while self.grant_one(out, worker, &mut load, reach) {}
        body.grants = load.grants;
        self.queues.stirred |= self.is_full(out);
    }

    /// Returns the number of further leases that a worker may get now.
    fn grant_room(&self, worker: WorkerIx) -> usize {
        let it = &self.workers[worker];
        if it.status != WorkerStatus::Online {
            return 0;
        }
        let capacity = it.capacity(self.config.ahead_work, self.config.ahead_max);
        it.want.min(capacity.saturating_sub(self.occupied_slots(worker))) as usize
    }

    /// Returns the number of leases that count against a worker's slots: all open ones, acknowledged or not.
    fn occupied_slots(&self, worker: WorkerIx) -> u32 {
        let it = &self.workers[worker];
        if self.config.bugs.on(PlantedBug::UndeliveredOverfillSlots) {
            let delivered = |lease: &&LeaseIx| !self.leases[**lease].is_undelivered(it.peer.seen());
            return u32::try_from(it.leases.iter().filter(delivered).count()).unwrap_or(u32::MAX);
        }
        it.open()
    }

    /// Grants the best step that the worker may have, unless the decision or the reply is full.
    fn grant_one(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        load: &mut GrantLoad,
        reach: GrantReach,
    ) -> bool {
        if self.is_full(out)
            || self.grant_room(worker) == 0
            || load.grants.len() >= self.config.grants_max
        {
            return false;
        }
        let Some((position, queued)) = self.next_step_for(worker, reach) else { return false };
        // A step that does not fit beside the rest comes first in the next reply.
        let weight = self.runs[position.run].grant_input_bytes(queued.step) + GRANT_FRAME;
        if !load.grants.is_empty() && load.bytes + weight > REPLY_GRANT_BYTES_MAX {
            return false;
        }
        if weight > SINGLE_GRANT_BYTES_MAX {
            let settled = StepSettlement::FailedTooLarge { bytes: weight as u64 };
            self.emit_settled(out, position.run, queued.step, settled);
            return true;
        }
        let run = &self.runs[position.run];
        let state = run.step(queued.step);
        let event = event::Granted {
            run: run.id,
            step: queued.step,
            attempt: state.attempt,
            delivery: state.delivery.saturating_add(1),
            worker: self.workers[worker].id,
            fence: Fence::new(self.generation, self.fences + 1),
            seq: self.workers[worker].peer.last(),
            expires: self.workers[worker].leases_expire().then(|| self.now + self.ttl),
        };
        self.emit(out, event);
        self.workers[worker].want = self.workers[worker].want.saturating_sub(1);
        let lease = self.runs[position.run].step(queued.step).lease;
        load.push(self.grant_message(lease.expect("the step has just been granted")));
        true
    }

    /// Returns the step that the worker would get next, if there is one.
    fn next_step_for(
        &mut self,
        worker: WorkerIx,
        reach: GrantReach,
    ) -> Option<(LanePosition, QueuedStep)> {
        let has_free_slot = self.occupied_slots(worker) < self.workers[worker].slots;
        if !has_free_slot && reach == GrantReach::Slots {
            return None;
        }
        let (lane, position, queued) = self.best_lane_for(worker)?;
        // If the best step cannot be leased ahead, the worker gets no other step ahead: otherwise a worker that is
        // never idle would never run the best step.
        (has_free_slot || self.queues.lanes[lane].key.ahead).then_some((position, queued))
    }

    /// Returns the head of the best open lane among the classes that the worker serves.
    fn best_lane_for(&mut self, worker: WorkerIx) -> Option<(LaneIx, LanePosition, QueuedStep)> {
        let mut best: Option<(GrantUrgency, LaneIx)> = None;
        let mut looks = self.workers[worker].classes.len();
        for at in 0..self.workers[worker].classes.len() {
            let class = self.workers[worker].classes[at];
            let Some((rank, lane)) = self.open_lane(worker, class, &mut looks) else {
                continue;
            };
            let scarcity = self.queues.classes[class].workers;
            let key = (rank.bucket, rank.weight, scarcity, rank.order);
            if best.is_none_or(|(found, _)| key < found) {
                best = Some((key, lane));
            }
        }
        self.queues.scans += looks as u64;
        let (_, lane) = best?;
        let (position, queued) = self.queues.lanes[lane].head()?;
        Some((lane, position, queued))
    }

    /// Returns the first open lane of a class that may go to this worker; the lanes before it are counted.
    fn open_lane(
        &self,
        worker: WorkerIx,
        class: ClassIx,
        looks: &mut usize,
    ) -> Option<(LaneRank, LaneIx)> {
        let mut open = self.queues.classes[class].open.iter().copied();
        open.find(|(_, lane)| {
            *looks += 1;
            self.lane_accepts(worker, *lane)
        })
    }

    fn lane_accepts(&self, worker: WorkerIx, lane: LaneIx) -> bool {
        let lane = &self.queues.lanes[lane];
        let limit = lane.key.per_worker.as_ref();
        if limit.is_some_and(|limit| self.workers[worker].is_at_limit(limit)) {
            return false;
        }
        if !self.preference_allows(worker, lane) || self.lane_embargo(lane).is_some() {
            return false;
        }
        if lane.key.avoid != Some(worker) {
            return true;
        }
        let waited =
            lane.head().is_some_and(|(_, head)| self.now.since(head.since) >= AVOID_WORKER_WAIT);
        waited || self.queues.classes[lane.key.class].workers < 2
    }

    pub(in crate::engine) fn grant_message(&self, lease: LeaseIx) -> LeaseGrant {
        let lease = &self.leases[lease];
        let run = &self.runs[lease.run];
        let spec = run.spec(lease.step);
        LeaseGrant {
            lease: LeaseRef {
                fence: lease.fence,
                run: run.id,
                step: lease.step,
                attempt: lease.attempt,
            },
            delivery: lease.delivery,
            root: run.options.root.unwrap_or(run.id),
            name: run.plan.name(lease.step).into(),
            values: (!spec.reads.is_empty()).then(|| run.values_for(lease.step).to_string().into()),
            work: run.plan.work(lease.step),
            timeout: spec.timeout,
            kill_grace: spec.kill_grace,
            stops_on_lost_contact: spec.stops_on_lost_contact(),
        }
    }

    /// Answers parked exchanges that have content: first those with orders, then those that can get ready steps.
    pub(in crate::engine) fn serve_parked(&mut self, out: &mut DecisionDraft) {
        for worker in std::mem::take(&mut self.notify) {
            let body =
                if self.parked.contains(&worker) { self.pending_orders(worker) } else { continue };
            if !body.is_empty() {
                self.answer_parked(out, worker, body);
            }
        }
        if std::mem::take(&mut self.queues.stirred) {
            self.serve_ready(out, &[GrantReach::Slots, GrantReach::Ahead]);
        }
    }

    /// Fills the free slots of parked workers before any leases ahead: otherwise a lease that one worker releases for
    /// another would return to the first.
    pub(in crate::engine) fn serve_free_slots(&mut self, out: &mut DecisionDraft) {
        if self.queues.stirred {
            self.serve_ready(out, &[GrantReach::Slots]);
        }
    }

    /// Distributes ready steps evenly over workers with a parked exchange, starting with the least loaded.
    fn serve_ready(&mut self, out: &mut DecisionDraft, reaches: &[GrantReach]) {
        if !self.queues.is_open() {
            return;
        }
        let parked = self.parked.iter().filter(|worker| self.grant_room(**worker) > 0);
        let load = |worker: WorkerIx| {
            u64::from(self.workers[worker].open()) * 1000 / u64::from(self.workers[worker].slots)
        };
        let mut waiting: Vec<(u64, WorkerIx, GrantLoad)> =
            parked.map(|worker| (load(*worker), *worker, GrantLoad::default())).collect();
        waiting.sort_unstable_by_key(|(load, worker, _)| (*load, *worker));
        for reach in reaches {
            self.grant_round_robin(out, &mut waiting, *reach);
        }
        for (_, worker, GrantLoad { grants, .. }) in waiting {
            if !grants.is_empty() && !self.config.bugs.on(PlantedBug::SupersededPollDropsGrants) {
                self.answer_parked(
                    out,
                    worker,
                    ExchangeReplyBody { grants, ..ExchangeReplyBody::default() },
                );
            }
        }
        self.queues.stirred |= self.is_full(out);
    }

    /// Grants each waiting worker one step per round, until no worker can get another.
    fn grant_round_robin(
        &mut self,
        out: &mut DecisionDraft,
        waiting: &mut [(u64, WorkerIx, GrantLoad)],
        reach: GrantReach,
    ) {
        let mut hopeful: Vec<usize> = (0..waiting.len()).collect();
        while !hopeful.is_empty() {
            hopeful.retain(|at| {
                let (_, worker, load) = &mut waiting[*at];
                self.grant_one(out, *worker, load, reach)
            });
        }
    }
}
