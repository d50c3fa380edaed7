//! One exchange of a worker: the leader judges reported outcomes, renews leases and grants new ones.

use std::collections::BTreeSet;

use super::decide::DecisionDraft;
use super::grant::GrantReach;
use crate::engine::event::{self, LeaseEndKind};
use crate::engine::request::EngineAnswer;
use crate::engine::state::engine::Engine;
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::worker::WorkerStatus;
use crate::id::{Fence, Seq};
use crate::outcome::{Outcome, OutcomeKind};
use crate::planted_bugs::PlantedBug;
use crate::session::{
    Exchange, ExchangeArrival, ExchangeReplyBody, InFlightLease, LeasePhase, StopMode, StopOrder,
    StopReason, WorkerRefusal,
};
use crate::slab::{LeaseIx, WorkerIx};

/// A reply in preparation.
struct ReplyDraft {
    /// The exchange that it answers.
    seq: Seq,
    /// Whether no other reply to that exchange can have been sent. The worker may have processed an earlier reply of
    /// this leader or a former one, and would then drop anything new in a second reply.
    is_first: bool,
    body: ExchangeReplyBody,
}

impl Engine {
    pub(in crate::engine) fn exchange(
        &mut self,
        out: &mut DecisionDraft,
        exchange: &Exchange,
    ) -> EngineAnswer {
        let to = (exchange.worker, exchange.incarnation, exchange.seq);
        let worker = match self.live_worker(exchange) {
            Ok(worker) => worker,
            Err(refusal) => {
                self.reply(out, to, Err(refusal));
                return EngineAnswer::Exchanged;
            }
        };
        let arrival = self.workers[worker].peer.receive(exchange.seq, exchange.seen);
        match arrival {
            ExchangeArrival::Overtaken
                if !self.config.bugs.on(PlantedBug::DelayedExchangeRevokes) =>
            {
                self.reply(out, to, Err(WorkerRefusal::OldSeq));
                return EngineAnswer::Exchanged;
            }
            ExchangeArrival::Repeat if self.workers[worker].peer.parked().is_some() => {
                return EngineAnswer::Exchanged;
            }
            ExchangeArrival::New { superseded: Some(parked) } => {
                self.parked.remove(&worker);
                self.reply(out, (to.0, to.1, parked), Ok(ExchangeReplyBody::default()));
            }
            ExchangeArrival::New { superseded: None }
            | ExchangeArrival::Repeat
            | ExchangeArrival::Overtaken => {}
        }
        self.record_contact(out, worker);
        self.record_drain(out, worker, exchange);
        let is_first = matches!(arrival, ExchangeArrival::New { .. }) && exchange.term == self.term;
        let mut draft =
            ReplyDraft { seq: exchange.seq, is_first, body: ExchangeReplyBody::default() };
        self.process_exchange(out, worker, exchange, &mut draft);
        let mut body = draft.body;
        self.workers[worker].want = exchange.want;
        if is_first {
            self.fill_reply(out, worker, &mut body, GrantReach::Slots);
            self.serve_free_slots(out);
            self.fill_reply(out, worker, &mut body, GrantReach::Ahead);
            self.request_take_back(worker);
        }
        if is_first && body.is_empty() {
            self.park(worker);
        } else {
            body.grants.sort_unstable_by_key(|grant| grant.lease.fence);
            self.reply(out, to, Ok(body));
        }
        EngineAnswer::Exchanged
    }

    fn live_worker(&self, exchange: &Exchange) -> Result<WorkerIx, WorkerRefusal> {
        let worker =
            self.worker_ids.get(&exchange.worker).copied().ok_or(WorkerRefusal::NotRegistered)?;
        let it = &self.workers[worker];
        if self.keys.is_revoked(exchange.worker) {
            return Err(WorkerRefusal::Revoked);
        }
        if exchange.incarnation > it.incarnation {
            return Err(WorkerRefusal::NotRegistered);
        }
        let renewed = self.config.bugs.on(PlantedBug::SupersededRenewed);
        if exchange.incarnation < it.incarnation && !renewed {
            return Err(WorkerRefusal::Superseded);
        }
        if it.status == WorkerStatus::Ended {
            return Err(WorkerRefusal::Ended);
        }
        if let (WorkerStatus::Lost, Some(by)) = (it.status, self.live_worker_named(&it.name, it.id))
        {
            return Err(WorkerRefusal::NameTaken { name: it.name.clone(), by });
        }
        Ok(worker)
    }

    fn record_contact(&mut self, out: &mut DecisionDraft, worker: WorkerIx) {
        self.workers[worker].contact = self.now;
        if self.workers[worker].status == WorkerStatus::Lost {
            let id = self.workers[worker].id;
            self.emit(out, event::WorkerReturned { worker: id });
        }
    }

    /// Judges outcomes, renews leases and resends grants, and fills the reply with the results.
    fn process_exchange(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        exchange: &Exchange,
        draft: &mut ReplyDraft,
    ) {
        let in_flight = exchange.in_flight.iter().map(|listed| listed.lease.fence);
        let finished = exchange.finished.iter().map(|finished| finished.lease.fence);
        self.detect_lost_history(out, in_flight.chain(finished));
        // The worker lists an outcome again until it has a verdict, so a decision may leave some of them to the next.
        for finished in exchange.finished.iter().take(self.config.batch_max) {
            if out.exceeds_batch_bytes() || out.events.len() >= self.config.batch_max {
                break;
            }
            self.deciding_run = Some(finished.lease.run);
            let verdict = self.judge_outcome(out, worker, finished);
            draft.body.verdicts.push((finished.lease.fence, verdict));
        }
        if !self.workers[worker].stops_sent.is_empty() {
            let listed = exchange.in_flight.iter().map(|listed| listed.lease.fence);
            let listed: BTreeSet<Fence> = listed.collect();
            self.workers[worker].stops_sent.retain(|fence, _| listed.contains(fence));
        }
        for listed in &exchange.in_flight {
            self.process_listed_lease(out, worker, listed, draft);
        }
        self.process_unlisted_leases(out, worker, draft);
        if draft.is_first {
            let stops = draft.body.stops.iter();
            let stops = stops.map(|stop| (stop.fence, ((stop.how, stop.why), draft.seq)));
            self.workers[worker].stops_sent.extend(stops);
        }
    }

    /// Processes a lease that the worker lists: the step continues, or must stop.
    fn process_listed_lease(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        listed: &InFlightLease,
        draft: &mut ReplyDraft,
    ) {
        let at = listed.lease;
        self.deciding_run = Some(at.run);
        let any_incarnation = self.config.bugs.on(PlantedBug::SupersededRenewed);
        let is_its = |lease: &LeaseIx| {
            self.leases[*lease].worker == worker
                && (any_incarnation || self.is_of_current_incarnation(*lease))
        };
        let lease = self.lease_of(at.run, at.step, at.fence).filter(is_its);
        let Some(lease) = lease else {
            let stop = StopOrder { fence: at.fence, how: StopMode::Kill, why: StopReason::Stale };
            return self.add_stop(worker, stop, &mut draft.body);
        };
        self.leases[lease].heard = draft.seq;
        self.confirm(out, lease);
        if listed.phase == LeasePhase::Started {
            self.leases[lease].asked_back = false;
            if self.leases[lease].started_at.is_none() {
                self.emit(out, event::Started { run: at.run, step: at.step, fence: at.fence });
            }
        }
        if let Some(stop) = self.stop_order(lease) {
            self.add_stop(worker, stop, &mut draft.body);
        }
        if self.leases[lease].asked_back {
            draft.body.take_back.push(at.fence);
        }
    }

    /// Adds a stop order, unless the worker has processed a reply with the same order. A step takes time to stop, and
    /// the exchange may stay parked meanwhile.
    fn add_stop(&self, worker: WorkerIx, stop: StopOrder, body: &mut ExchangeReplyBody) {
        let it = &self.workers[worker];
        let sent = it.stops_sent.get(&stop.fence);
        let order = (stop.how, stop.why);
        if !sent.is_some_and(|(before, at)| *before >= order && *at <= it.peer.seen()) {
            body.stops.push(stop);
        }
    }

    fn confirm(&mut self, out: &mut DecisionDraft, lease: LeaseIx) {
        let it = &self.leases[lease];
        // A leader that begins another generation requires its own leases to be presented again, too.
        if it.term != self.term || it.led_since.is_some() {
            let run = self.runs[it.run].id;
            self.emit(out, event::Confirmed { run, step: it.step, fence: it.fence });
        }
    }

    fn stop_order(&self, lease: LeaseIx) -> Option<StopOrder> {
        let lease = &self.leases[lease];
        lease.stop.map(|(how, why)| StopOrder { fence: lease.fence, how, why })
    }

    /// Processes leases that the worker does not list. Grants that it may not have received are resent; the others are
    /// lost.
    fn process_unlisted_leases(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        draft: &mut ReplyDraft,
    ) {
        let (seq, seen) = (draft.seq, self.workers[worker].peer.seen());
        // The current incarnation does not have the leases of a former one.
        let unlisted = self.workers[worker].leases.iter().filter(|lease| {
            self.leases[**lease].heard != seq && self.is_of_current_incarnation(**lease)
        });
        let mut unlisted: Vec<LeaseIx> = unlisted.copied().collect();
        unlisted.sort_unstable_by_key(|lease| self.leases[*lease].fence);
        for lease in unlisted {
            self.deciding_run = Some(self.runs[self.leases[lease].run].id);
            if self.config.bugs.on(PlantedBug::LostReplyForgetsGrant) {
                continue;
            }
            let it = &self.leases[lease];
            let may_run_elsewhere = self.step_embargo(it.run, it.step).is_some();
            if !it.is_undelivered(seen) || may_run_elsewhere {
                self.end_lease(
                    out,
                    lease,
                    Outcome::plain(OutcomeKind::Lost),
                    LeaseEndKind::GivenUp,
                );
            } else if self.leases[lease].stop.is_none() {
                self.confirm(out, lease);
                draft.body.grants.push(self.grant_message(lease));
            }
        }
    }

    /// Parks the exchange until the reply has content, or the next exchange is due.
    fn park(&mut self, worker: WorkerIx) {
        let until = self.now + self.interval();
        self.workers[worker].peer.park();
        self.parked.insert(worker);
        self.workers[worker].park_until = until;
        self.timers.set(until, EngineTimer::Parked(worker));
    }

    /// Answers a parked exchange.
    pub(in crate::engine) fn answer_parked(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        mut body: ExchangeReplyBody,
    ) {
        let it = &mut self.workers[worker];
        let (id, incarnation) = (it.id, it.incarnation);
        let Some(seq) = it.peer.unpark() else { return };
        let stops = body.stops.iter().map(|stop| (stop.fence, ((stop.how, stop.why), seq)));
        it.stops_sent.extend(stops);
        self.parked.remove(&worker);
        self.timers.clear(self.workers[worker].park_until, EngineTimer::Parked(worker));
        body.grants.sort_unstable_by_key(|grant| grant.lease.fence);
        self.reply(out, (id, incarnation, seq), Ok(body));
    }

    /// Refuses a parked exchange of an incarnation that has ended.
    pub(in crate::engine) fn refuse_parked(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        refusal: WorkerRefusal,
    ) {
        let it = &mut self.workers[worker];
        let (id, incarnation) = (it.id, it.incarnation);
        if let Some(seq) = it.peer.unpark() {
            self.parked.remove(&worker);
            self.reply(out, (id, incarnation, seq), Err(refusal));
        }
    }

    /// Adds the orders for the leases of a worker: stop orders, and leases to release.
    pub(in crate::engine) fn pending_orders(&self, worker: WorkerIx) -> ExchangeReplyBody {
        let mut leases = self.workers[worker].leases.clone();
        leases.retain(|lease| self.is_of_current_incarnation(*lease));
        leases.sort_unstable_by_key(|lease| self.leases[*lease].fence);
        let back = |lease: &&LeaseIx| self.leases[**lease].asked_back;
        let take_back: Vec<Fence> =
            leases.iter().filter(back).map(|lease| self.leases[*lease].fence).collect();
        let was_sent = |stop: &StopOrder| {
            let before = self.workers[worker].stops_sent.get(&stop.fence);
            before.is_some_and(|(before, _)| *before >= (stop.how, stop.why))
        };
        let stops = leases
            .iter()
            .filter_map(|lease| self.stop_order(*lease))
            .filter(|stop| !was_sent(stop))
            .collect();
        ExchangeReplyBody { stops, take_back, ..ExchangeReplyBody::default() }
    }
}
