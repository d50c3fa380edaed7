//! The worker's end of a session for a plain worker, which knows nothing of sessions.
//!
//! A plain worker sends single requests over HTTP: claim, heartbeat, complete, goodbye. The controller keeps the
//! worker's end of the session: the leases that the worker has, those that were granted and not yet claimed, and the
//! orders to stop. All of it can be rebuilt from durable state. It is valid under one leader only: under the next one,
//! requests may have gone to another controller, and this end does not know the leases that were granted there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::contact_deadline::safety_margin;
use super::message::{
    Exchange, ExchangeReply, ExchangeReplyBody, FinishedAttempt, InFlightLease, LeaseGrant,
    LeasePhase, LeaseRef, OutcomeVerdict, WorkerRefusal,
};
use super::plain_lease::PlainLease;
use super::stop_order::StopReason;
use crate::id::{Fence, Incarnation, Seq, Term, WorkerId};
use crate::outcome::{Outcome, OutcomeKind};
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::time::{Span, Time};

/// Orders to stop that are remembered: a worker that does not list its leases does not say which steps it has stopped.
const STOPS_MAX: usize = 1_024;

/// The worker of a session, and the state in which the session begins.
#[derive(Clone, Copy, Debug)]
pub struct PlainSessionConfig {
    /// The worker's id.
    pub worker: WorkerId,
    /// The worker's incarnation.
    pub incarnation: Incarnation,
    /// The term under which the session is valid.
    pub term: Term,
    /// The newest known exchange.
    pub last: Seq,
    /// Planted bugs, for the simulator's hunt.
    pub bugs: PlantedBugs,
}

/// The state of a plain worker that its requests do not repeat.
#[derive(Clone, Debug)]
pub struct PlainWorkerSession {
    config: PlainSessionConfig,
    seq: Seq,
    seen: Seq,
    held: BTreeMap<Fence, PlainLease>,
    /// Leases that were granted and not yet claimed.
    offers: VecDeque<LeaseGrant>,
    stops: BTreeSet<Fence>,
    /// The beginning of the newest answered exchange. Lease durations count from it.
    renewed_at: Time,
}

impl PlainWorkerSession {
    /// Returns the session of a worker that holds these leases.
    pub fn new(config: PlainSessionConfig, held: impl IntoIterator<Item = PlainLease>) -> Self {
        Self {
            config,
            seq: config.last,
            seen: config.last,
            held: held.into_iter().map(|held| (held.lease.fence, held)).collect(),
            offers: VecDeque::new(),
            stops: BTreeSet::new(),
            renewed_at: Time::ZERO,
        }
    }

    /// Returns the worker and incarnation of the session.
    pub const fn config(&self) -> PlainSessionConfig {
        self.config
    }

    /// Returns the steps that the worker has to stop.
    pub fn stops(&self) -> Vec<Fence> {
        self.stops.iter().copied().collect()
    }

    /// Returns the leases that the worker holds.
    pub fn held(&self) -> Vec<Fence> {
        self.held.keys().copied().collect()
    }

    /// Whether the worker still holds a lease that was offered to it. The answer to a later exchange may have called
    /// the lease stale, or the worker may not have listed it.
    pub fn holds(&self, fence: Fence) -> bool {
        self.held.contains_key(&fence) || self.config.bugs.on(PlantedBug::PlainOfferOutlivesLease)
    }

    /// Returns the time at which the worker's leases expire under this lease duration: a margin before they expire for
    /// the leader.
    pub fn expires_at(&self, ttl: Span) -> Time {
        self.renewed_at + ttl.saturating_sub(safety_margin(ttl))
    }

    /// Takes a heartbeat: the next exchange does not renew leases that the worker no longer lists. Overdue ones are
    /// renewed for one lease duration after the order to stop: the worker may not hear it, and then goes by the expiry
    /// that it heard before.
    pub fn heartbeat(&mut self, listed: Option<&[Fence]>, ttl: Span, now: Time) {
        match listed {
            Some(listed) => self.list(listed),
            None => self.stop_overdue(ttl, now),
        }
    }

    fn list(&mut self, listed: &[Fence]) {
        self.stops.retain(|fence| listed.contains(fence));
        self.held.retain(|fence, _| listed.contains(fence));
        for fence in listed {
            match self.held.get_mut(fence) {
                Some(held) => (held.is_listed, held.overdue_since) = (true, None),
                None => drop(self.stops.insert(*fence)),
            }
        }
    }

    fn stop_overdue(&mut self, ttl: Span, now: Time) {
        let spares =
            if self.config.bugs.on(PlantedBug::OverdueGivenUpAtOnce) { Span::ZERO } else { ttl };
        for (fence, held) in self.held.iter_mut().filter(|(_, held)| held.is_overdue(now)) {
            held.overdue_since.get_or_insert(now);
            self.stops.insert(*fence);
        }
        self.held
            .retain(|_, held| held.overdue_since.is_none_or(|since| now.since(since) < spares));
    }

    /// Records that the worker has left and runs nothing.
    pub fn on_left(&mut self) {
        self.held.clear();
        self.offers.clear();
    }

    /// Records that the worker leaves while these steps may still run. Other leases are not renewed, and unclaimed ones
    /// are released.
    pub fn on_leaving(&mut self, running: &[Fence]) -> Vec<FinishedAttempt> {
        self.list(running);
        let released = |grant: LeaseGrant| FinishedAttempt {
            lease: grant.lease,
            outcome: Outcome::plain(OutcomeKind::Released),
            ran: None,
        };
        self.offers.drain(..).map(released).collect()
    }

    /// Whether a claim has to request a lease from the leader. A worker that claims one step at a time needs no lease
    /// ahead of its slots.
    pub fn needs_offer(&self, slots: usize) -> bool {
        self.offers.is_empty() && self.held.len() < slots
    }

    /// Returns the next lease for the worker, which holds it from now on.
    pub fn claim(&mut self, now: Time) -> Option<LeaseGrant> {
        let grant = self.offers.pop_front()?;
        let held = PlainLease::new(grant.lease, now, grant.timeout);
        self.held.insert(grant.lease.fence, held);
        Some(grant)
    }

    /// Takes a report on a delivery, and returns the lease that it ends if the worker has it. For a lease that the
    /// worker does not have, the attempt is unknown and not needed: the fence identifies the delivery.
    pub fn complete(
        &mut self,
        at: LeaseRef,
        outcome: Outcome,
        now: Time,
    ) -> (FinishedAttempt, Option<PlainLease>) {
        let held = self.held.remove(&self.reported_fence(at));
        let ran = held.map(|held| now.since(held.since));
        let lease = held.map_or(at, |held| held.lease);
        (FinishedAttempt { lease, outcome, ran }, held)
    }

    /// Returns the fence that a report concerns: its own.
    fn reported_fence(&self, at: LeaseRef) -> Fence {
        let is_same = |held: &&PlainLease| (held.lease.run, held.lease.step) == (at.run, at.step);
        let newest = self.held.values().rev().find(is_same);
        match newest.filter(|_| self.config.bugs.on(PlantedBug::PlainCompleteIgnoresFence)) {
            Some(held) => held.lease.fence,
            None => at.fence,
        }
    }

    /// Holds the lease of a report without an answer until the worker repeats the report.
    pub fn report_unanswered(&mut self, held: Option<PlainLease>) {
        self.held.extend(held.map(|held| (held.lease.fence, held)));
    }

    /// Returns the verdict on a report.
    pub fn outcome_verdict(&mut self, fence: Fence, body: &ExchangeReplyBody) -> OutcomeVerdict {
        self.stops.remove(&fence);
        let verdict = body.verdicts.iter().find(|(judged, _)| *judged == fence);
        verdict.map_or(OutcomeVerdict::Stale, |(_, verdict)| *verdict)
    }

    /// Returns the next exchange. The leader parks an exchange that it has no news for; a further one, which requests
    /// nothing, has it answered at once.
    pub fn next_exchange(&mut self, want: u32, finished: Vec<FinishedAttempt>) -> Exchange {
        self.seq = Seq(self.seq.0 + 1);
        let held = self.held.values().map(|held| (held.lease, LeasePhase::Started));
        let offers = self.offers.iter().map(|grant| (grant.lease, LeasePhase::Queued));
        Exchange {
            worker: self.config.worker,
            drains: false,
            incarnation: self.config.incarnation,
            seq: self.seq,
            seen: self.seen,
            term: self.config.term,
            finished,
            in_flight: held
                .chain(offers)
                .map(|(lease, phase)| InFlightLease { lease, phase })
                .collect(),
            want,
        }
    }

    /// Takes the reply to an exchange that began at `asked_at`.
    pub fn on_reply(
        &mut self,
        reply: ExchangeReply,
        asked_at: Time,
    ) -> Result<ExchangeReplyBody, WorkerRefusal> {
        self.seen = self.seen.max(reply.seq);
        let body = reply.body?;
        self.renewed_at = asked_at;
        self.apply_reply_body(&body);
        Ok(body)
    }

    fn apply_reply_body(&mut self, body: &ExchangeReplyBody) {
        for stop in &body.stops {
            if stop.why == StopReason::Stale {
                self.held.remove(&stop.fence);
                self.offers.retain(|grant| grant.lease.fence != stop.fence);
            }
            self.stops.insert(stop.fence);
        }
        while self.stops.len() > STOPS_MAX {
            self.stops.pop_first();
        }
        for grant in &body.grants {
            let fence = grant.lease.fence;
            let is_known = self.offers.iter().any(|offer| offer.lease.fence == fence);
            if !is_known && !self.held.contains_key(&fence) {
                self.offers.push_back(grant.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{RunId, StepIx};
    use crate::session::plain_lease::SILENT_STEP_TIMEOUT;
    use crate::session::{StopMode, StopOrder};

    fn lease(fence: u64) -> LeaseRef {
        LeaseRef { fence: Fence(fence), run: RunId(1), step: StepIx(0), attempt: 2 }
    }

    fn session() -> PlainWorkerSession {
        let config = PlainSessionConfig {
            worker: WorkerId(7),
            incarnation: Incarnation(1),
            term: Term(3),
            last: Seq(10),
            bugs: PlantedBugs::NONE,
        };
        PlainWorkerSession::new(config, [PlainLease::new(lease(5), Time::ZERO, None)])
    }

    fn reply(to: &Exchange, body: ExchangeReplyBody) -> ExchangeReply {
        ExchangeReply {
            worker: to.worker,
            incarnation: to.incarnation,
            seq: to.seq,
            term: to.term,
            ttl: Span::secs(10),
            interval: Span::secs(2),
            body: Ok(body),
        }
    }

    #[test]
    fn stale_lease_is_no_longer_held_and_its_step_must_stop() {
        let mut session = session();
        let exchange = session.next_exchange(0, Vec::new());
        assert_eq!((exchange.seq, exchange.seen, exchange.term), (Seq(11), Seq(10), Term(3)));
        assert!(session.holds(Fence(5)));
        let stop = StopOrder { fence: Fence(5), how: StopMode::Kill, why: StopReason::Stale };
        let body = ExchangeReplyBody { stops: vec![stop], ..ExchangeReplyBody::default() };
        session.on_reply(reply(&exchange, body), Time::ZERO).expect("it is no refusal");
        assert!(!session.holds(Fence(5)));
        assert_eq!(session.stops(), [Fence(5)]);
    }

    /// The answer with the order may be lost, and the worker then runs the step until the expiry that it heard before.
    #[test]
    fn overdue_lease_is_held_for_a_lease_duration_after_the_order_to_stop() {
        let mut session = session();
        let (ttl, late) = (Span::secs(10), Time::ZERO + SILENT_STEP_TIMEOUT + Span::secs(1));
        session.heartbeat(None, ttl, Time::ZERO + SILENT_STEP_TIMEOUT);
        assert!(session.stops().is_empty(), "it is not overdue yet");
        session.heartbeat(None, ttl, late);
        assert_eq!((session.stops(), session.held()), (vec![Fence(5)], vec![Fence(5)]));
        session.heartbeat(None, ttl, late + Span::secs(9));
        assert!(session.holds(Fence(5)));
        session.heartbeat(None, ttl, late + ttl);
        assert_eq!((session.stops(), session.held()), (vec![Fence(5)], vec![]));
    }

    #[test]
    fn a_report_ends_the_lease_of_its_own_fence_alone() {
        let mut session = session();
        let (now, failed) = (Time::ZERO + Span::secs(4), Outcome::plain(OutcomeKind::Failed));
        let (late, held) = session.complete(lease(4), failed.clone(), now);
        assert!(held.is_none() && session.holds(Fence(5)));
        assert_eq!((late.lease.fence, late.ran), (Fence(4), None));
        let (own, held) = session.complete(lease(5), failed, now);
        assert_eq!((own.lease, own.ran), (lease(5), Some(Span::secs(4))));
        assert!(!session.holds(Fence(5)));
        session.report_unanswered(held);
        assert!(session.holds(Fence(5)), "it was not heard, so it is still held");
    }
}
