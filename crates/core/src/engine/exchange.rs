//! One round trip of a worker: what it reports is judged, what it holds is renewed, what it wants is granted.

use std::collections::BTreeSet;

use super::decide::Out;
use super::event::{EndedAs, Event};
use super::grant::Reach;
use super::request::Answer;
use super::state::Engine;
use super::timer::Timer;
use super::worker::WorkerStatus;
use crate::id::{Fence, Seq};
use crate::outcome::{Outcome, OutcomeKind};
use crate::planted::Bug;
use crate::session::{
    Arrival, Exchange, InFlight, Phase, Refusal, ReplyBody, Stop, StopHow, StopReason,
};

/// A reply in the making.
struct Draft {
    /// The exchange that it answers.
    seq: Seq,
    /// Whether no other answer to that exchange can have been given. What is said for the first time in a second answer
    /// would be dropped: the worker may have processed the first, which this leader or an earlier one gave.
    is_first: bool,
    body: ReplyBody,
}

impl Engine {
    pub(super) fn exchange(&mut self, out: &mut Out, exchange: &Exchange) -> Answer {
        let to = (exchange.worker, exchange.incarnation, exchange.seq);
        let worker = match self.who(exchange) {
            Ok(worker) => worker,
            Err(refusal) => {
                self.reply(out, to, Err(refusal));
                return Answer::Exchanged;
            }
        };
        let arrival = self.workers[worker].peer.arrive(exchange.seq, exchange.seen);
        match arrival {
            Arrival::Old if !self.config.bugs.on(Bug::DelayedExchangeRevokes) => {
                self.reply(out, to, Err(Refusal::OldSeq));
                return Answer::Exchanged;
            }
            Arrival::Repeat if self.workers[worker].peer.parked().is_some() => {
                return Answer::Exchanged;
            }
            Arrival::New { superseded: Some(parked) } => {
                self.parked.remove(&worker);
                self.reply(out, (to.0, to.1, parked), Ok(ReplyBody::default()));
            }
            Arrival::New { superseded: None } | Arrival::Repeat | Arrival::Old => {}
        }
        self.heard(out, worker);
        self.heard_to_drain(out, worker, exchange);
        let is_first = matches!(arrival, Arrival::New { .. }) && exchange.term == self.term;
        let mut draft = Draft { seq: exchange.seq, is_first, body: ReplyBody::default() };
        self.take_in(out, worker, exchange, &mut draft);
        let mut body = draft.body;
        self.workers[worker].want = exchange.want;
        if is_first {
            self.fill(out, worker, &mut body, Reach::Slots);
            self.serve_free_slots(out);
            self.fill(out, worker, &mut body, Reach::Ahead);
            self.ask_back(worker);
        }
        if is_first && body.is_empty() {
            self.park(worker);
        } else {
            body.grants.sort_unstable_by_key(|grant| grant.lease.fence);
            self.reply(out, to, Ok(body));
        }
        Answer::Exchanged
    }

    fn who(&self, exchange: &Exchange) -> Result<u32, Refusal> {
        let worker =
            self.worker_ids.get(&exchange.worker).copied().ok_or(Refusal::NotRegistered)?;
        let it = &self.workers[worker];
        if self.keys.is_revoked(exchange.worker) {
            return Err(Refusal::Revoked);
        }
        if exchange.incarnation > it.incarnation {
            return Err(Refusal::NotRegistered);
        }
        let renewed = self.config.bugs.on(Bug::SupersededRenewed);
        if exchange.incarnation < it.incarnation && !renewed {
            return Err(Refusal::Superseded);
        }
        if it.status == WorkerStatus::Ended {
            return Err(Refusal::Ended);
        }
        if let (WorkerStatus::Lost, Some(by)) = (it.status, self.namesake(&it.name, it.id)) {
            return Err(Refusal::NameTaken { name: it.name.clone(), by });
        }
        Ok(worker)
    }

    fn heard(&mut self, out: &mut Out, worker: u32) {
        self.workers[worker].contact = self.now;
        if self.workers[worker].status == WorkerStatus::Lost {
            let id = self.workers[worker].id;
            self.emit(out, Event::WorkerReturned { worker: id });
        }
    }

    /// Judges, renews and resends, and says so in the reply.
    fn take_in(&mut self, out: &mut Out, worker: u32, exchange: &Exchange, draft: &mut Draft) {
        let in_flight = exchange.in_flight.iter().map(|listed| listed.lease.fence);
        let finished = exchange.finished.iter().map(|finished| finished.lease.fence);
        self.notice_loss(out, in_flight.chain(finished));
        // What has no verdict is listed again: a decision need not hold more than it may.
        for finished in exchange.finished.iter().take(self.config.batch_max) {
            if out.is_heavy() || out.events.len() >= self.config.batch_max {
                break;
            }
            self.at_work = Some(finished.lease.run);
            let verdict = self.judge(out, worker, finished);
            draft.body.verdicts.push((finished.lease.fence, verdict));
        }
        if !self.workers[worker].told.is_empty() {
            let listed = exchange.in_flight.iter().map(|listed| listed.lease.fence);
            let listed: BTreeSet<Fence> = listed.collect();
            self.workers[worker].told.retain(|fence, _| listed.contains(fence));
        }
        for listed in &exchange.in_flight {
            self.present(out, worker, listed, draft);
        }
        self.review(out, worker, draft);
        if draft.is_first {
            let told = draft.body.stops.iter();
            let told = told.map(|stop| (stop.fence, ((stop.how, stop.why), draft.seq)));
            self.workers[worker].told.extend(told);
        }
    }

    /// A lease that the worker lists: it goes on, or must stop.
    fn present(&mut self, out: &mut Out, worker: u32, listed: &InFlight, draft: &mut Draft) {
        let at = listed.lease;
        self.at_work = Some(at.run);
        let any_life = self.config.bugs.on(Bug::SupersededRenewed);
        let is_its = |lease: &u32| {
            self.leases[*lease].worker == worker && (any_life || self.is_of_this_life(*lease))
        };
        let lease = self.lease_of(at.run, at.step, at.fence).filter(is_its);
        let Some(lease) = lease else {
            let stop = Stop { fence: at.fence, how: StopHow::Kill, why: StopReason::Stale };
            return self.tell_stop(worker, stop, &mut draft.body);
        };
        self.leases[lease].heard = draft.seq;
        self.confirm(out, lease);
        if listed.phase == Phase::Started {
            self.leases[lease].asked_back = false;
            if self.leases[lease].started_at.is_none() {
                self.emit(out, Event::Started { run: at.run, step: at.step, fence: at.fence });
            }
        }
        if let Some(stop) = self.stop_of(lease) {
            self.tell_stop(worker, stop, &mut draft.body);
        }
        if self.leases[lease].asked_back {
            draft.body.take_back.push(at.fence);
        }
    }

    /// Tells a worker to stop a lease, unless it has processed a reply that did: a step takes its time to stop, and the
    /// exchange may rest meanwhile.
    fn tell_stop(&self, worker: u32, stop: Stop, body: &mut ReplyBody) {
        let it = &self.workers[worker];
        let told = it.told.get(&stop.fence);
        let order = (stop.how, stop.why);
        if !told.is_some_and(|(before, at)| *before >= order && *at <= it.peer.seen()) {
            body.stops.push(stop);
        }
    }

    fn confirm(&mut self, out: &mut Out, lease: u32) {
        let it = &self.leases[lease];
        // A leader that begins another generation has its own leases presented anew, too.
        if it.term != self.term || it.led_since.is_some() {
            let run = self.runs[it.run].id;
            self.emit(out, Event::Confirmed { run, step: it.step, fence: it.fence });
        }
    }

    fn stop_of(&self, lease: u32) -> Option<Stop> {
        let lease = &self.leases[lease];
        lease.stop.map(|(how, why)| Stop { fence: lease.fence, how, why })
    }

    /// Leases that the worker does not list: what it cannot know yet is sent again, what it should know is forgotten.
    fn review(&mut self, out: &mut Out, worker: u32, draft: &mut Draft) {
        let (seq, seen) = (draft.seq, self.workers[worker].peer.seen());
        // Of what a former life held this one knows nothing.
        let unlisted = self.workers[worker]
            .leases
            .iter()
            .filter(|lease| self.leases[**lease].heard != seq && self.is_of_this_life(**lease));
        let mut unlisted: Vec<u32> = unlisted.copied().collect();
        unlisted.sort_unstable_by_key(|lease| self.leases[*lease].fence);
        for lease in unlisted {
            self.at_work = Some(self.runs[self.leases[lease].run].id);
            if self.config.bugs.on(Bug::LostReplyForgetsGrant) {
                continue;
            }
            let it = &self.leases[lease];
            let may_run_elsewhere = self.step_embargo(it.run, it.step).is_some();
            if !it.is_undelivered(seen) || may_run_elsewhere {
                self.end(out, lease, Outcome::plain(OutcomeKind::Lost), EndedAs::GivenUp);
            } else if self.leases[lease].stop.is_none() {
                self.confirm(out, lease);
                draft.body.grants.push(self.grant_message(lease));
            }
        }
    }

    /// Keeps the exchange open until there is something to say, or it is time for the next.
    fn park(&mut self, worker: u32) {
        let until = self.now + self.interval();
        self.workers[worker].peer.park();
        self.parked.insert(worker);
        self.workers[worker].park_until = until;
        self.timers.set(until, Timer::Parked(worker));
    }

    /// Answers a parked exchange.
    pub(super) fn unpark(&mut self, out: &mut Out, worker: u32, mut body: ReplyBody) {
        let it = &mut self.workers[worker];
        let (id, incarnation) = (it.id, it.incarnation);
        let Some(seq) = it.peer.unpark() else { return };
        let told = body.stops.iter().map(|stop| (stop.fence, ((stop.how, stop.why), seq)));
        it.told.extend(told);
        self.parked.remove(&worker);
        self.timers.clear(self.workers[worker].park_until, Timer::Parked(worker));
        body.grants.sort_unstable_by_key(|grant| grant.lease.fence);
        self.reply(out, (id, incarnation, seq), Ok(body));
    }

    /// Refuses a parked exchange of a life that is over.
    pub(super) fn dismiss(&mut self, out: &mut Out, worker: u32, refusal: Refusal) {
        let it = &mut self.workers[worker];
        let (id, incarnation) = (it.id, it.incarnation);
        if let Some(seq) = it.peer.unpark() {
            self.parked.remove(&worker);
            self.reply(out, (id, incarnation, seq), Err(refusal));
        }
    }

    /// What a worker must be told of leases that it holds: stops, and what is wanted back.
    pub(super) fn orders(&self, worker: u32) -> ReplyBody {
        let mut leases = self.workers[worker].leases.clone();
        leases.retain(|lease| self.is_of_this_life(*lease));
        leases.sort_unstable_by_key(|lease| self.leases[*lease].fence);
        let back = |lease: &&u32| self.leases[**lease].asked_back;
        let take_back: Vec<Fence> =
            leases.iter().filter(back).map(|lease| self.leases[*lease].fence).collect();
        let told = |stop: &Stop| {
            let before = self.workers[worker].told.get(&stop.fence);
            before.is_some_and(|(before, _)| *before >= (stop.how, stop.why))
        };
        let stops = leases
            .iter()
            .filter_map(|lease| self.stop_of(*lease))
            .filter(|stop| !told(stop))
            .collect();
        ReplyBody { stops, take_back, ..ReplyBody::default() }
    }
}
