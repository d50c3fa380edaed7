//! A foreign worker's end of its session.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;
use windlass_core::access::Principal;
use windlass_core::engine::{Answer, Request, Utc};
use windlass_core::id::{Fence, Incarnation, Seq, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{
    Exchange, Finished, Grant, InFlight, LeaseRef, Phase, Refusal, ReplyBody, StopReason, Verdict,
    safety_margin,
};
use windlass_core::time::{Span, Time};

use super::offer::offer;
use super::proxies::unknown;
use super::step_id::PlainStepId;
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;
use crate::logs::{LogId, LogStore as _};

/// How long a step may take that says nothing itself, on a worker that does not list what it holds.
const TIMEOUT: Span = Span::hours(1);

/// Answers to claims that are remembered.
const ANSWERS_MAX: usize = 64;

/// Orders to stop that are remembered: a worker that does not list what it holds does not say what it has stopped.
const STOPS_MAX: usize = 1_024;

/// Steps that are failed in one claim because they cannot be put in words.
const UNFIT_MAX: usize = 16;

/// What is known of a foreign worker that it does not say with every request.
#[derive(Debug)]
pub(super) struct Proxy {
    worker: WorkerId,
    incarnation: Incarnation,
    seq: Seq,
    seen: Seq,
    held: BTreeMap<Fence, Held>,
    /// Leases that were granted and not yet claimed.
    offers: VecDeque<Grant>,
    stops: BTreeSet<Fence>,
    answers: VecDeque<(String, Option<Value>)>,
    /// When the newest exchange that was answered began: leases count from then.
    renewed_at: Time,
}

/// A lease in the worker's hands.
#[derive(Clone, Copy, Debug)]
struct Held {
    lease: LeaseRef,
    since: Time,
    timeout: Span,
    /// Whether the worker lists it in its heartbeats: then it is held as long as it says so.
    is_listed: bool,
}

impl Proxy {
    /// The proxy of a worker, from what is durable; `None` if it is not registered.
    pub(super) fn rebuilt(api: &Api, worker: WorkerId) -> Option<Self> {
        api.handle.views().look(|view| {
            let known = view.engine.workers().find(|known| known.id == worker)?;
            let last = view.engine.last_exchange(worker)?;
            let leases = view.engine.leases().filter(|lease| lease.worker == worker);
            let held = leases.map(|it| {
                let lease =
                    LeaseRef { fence: it.fence, run: it.run, step: it.step, attempt: it.attempt };
                let spec = view.engine.run(it.run).and_then(|run| run.plan.spec(it.step));
                let timeout = spec.and_then(|spec| spec.timeout).unwrap_or(TIMEOUT);
                (it.fence, Held { lease, since: it.granted_at, timeout, is_listed: false })
            });
            Some(Self {
                worker,
                incarnation: known.incarnation,
                seq: last,
                seen: last,
                held: held.collect(),
                offers: VecDeque::new(),
                stops: BTreeSet::new(),
                answers: VecDeque::new(),
                renewed_at: Time::ZERO,
            })
        })
    }

    /// Renews what the worker holds, and says what it must stop, and until when the rest is renewed.
    pub(super) async fn heartbeat(
        &mut self,
        api: &Api,
        listed: Option<&[Fence]>,
    ) -> Result<(Vec<Fence>, Time), Refused> {
        match listed {
            Some(listed) => self.list(listed),
            None => self.give_up_overdue(api.now()),
        }
        self.exchange(api, 0, Vec::new()).await?;
        Ok((self.stops.iter().copied().collect(), self.expires_at(api)))
    }

    /// When the worker has to take its leases for ended: a margin before the leader does.
    fn expires_at(&self, api: &Api) -> Time {
        let leader = api.handle.views().look(|view| view.engine.leader());
        let ttl = leader.map_or(Span::ZERO, |leader| leader.ttl);
        self.renewed_at + ttl.less(safety_margin(ttl))
    }

    /// The worker leaves. Without steps that may still run, everything that it had ends now; else it gets no more leases,
    /// and those steps end by time. Returns when that is.
    pub(super) async fn goodbye(
        &mut self,
        api: &Api,
        running: &[Fence],
        by: Principal,
    ) -> Result<Option<Time>, Refused> {
        let (worker, incarnation) = (self.worker, self.incarnation);
        if running.is_empty() {
            let started = self.held.keys().copied().collect();
            self.settle(api, Request::GuardEnded { worker, incarnation, started }).await?;
            self.held.clear();
            self.offers.clear();
            return Ok(None);
        }
        self.settle(api, Request::Drain { worker }.by(by)).await?;
        self.list(running);
        let unclaimed = self.offers.drain(..).map(|grant| Finished {
            lease: grant.lease,
            outcome: Outcome::plain(OutcomeKind::Released),
            ran: None,
        });
        let unclaimed = unclaimed.collect();
        self.exchange(api, 0, unclaimed).await?;
        Ok(Some(self.expires_at(api)))
    }

    /// Has something decided that is done or refused.
    async fn settle(&self, api: &Api, request: Request) -> Result<(), Refused> {
        match api.handle.ask(request).await? {
            Answer::Done => Ok(()),
            Answer::Refused(refusal) => Err(refused(self.worker, &refusal)),
            Answer::Denied(denial) => Err(denial.into()),
            other => unreachable!("a goodbye is taken or refused, not {other:?}"),
        }
    }

    fn list(&mut self, listed: &[Fence]) {
        self.stops.retain(|fence| listed.contains(fence));
        self.held.retain(|fence, _| listed.contains(fence));
        for fence in listed {
            match self.held.get_mut(fence) {
                Some(held) => held.is_listed = true,
                None => drop(self.stops.insert(*fence)),
            }
        }
    }

    fn give_up_overdue(&mut self, now: Time) {
        let is_overdue = |held: &Held| !held.is_listed && now.since(held.since) > held.timeout;
        let overdue = self.held.extract_if(.., |_, held| is_overdue(held));
        self.stops.extend(overdue.map(|(fence, _)| fence));
    }

    /// The next step for the worker, if there is one now. The same request again gets the same answer.
    pub(super) async fn claim(
        &mut self,
        api: &Api,
        request: Option<&str>,
    ) -> Result<Option<Value>, Refused> {
        let known = self.answers.iter().find(|(known, _)| Some(known.as_str()) == request);
        if let Some((_, answer)) = known {
            return Ok(answer.clone());
        }
        let answer = self.next(api).await?;
        if let Some(request) = request {
            self.answers.truncate(ANSWERS_MAX - 1);
            self.answers.push_front((request.to_owned(), answer.clone()));
        }
        Ok(answer)
    }

    async fn next(&mut self, api: &Api) -> Result<Option<Value>, Refused> {
        let known = api.handle.views().look(|view| {
            let known = view.engine.workers().find(|known| known.id == self.worker)?;
            Some((known.name.into_owned(), known.slots as usize))
        });
        let (name, slots) = known.ok_or_else(|| unknown(self.worker))?;
        for _ in 0..UNFIT_MAX {
            // A worker that asks for one step at a time needs none ahead of its slots.
            if self.offers.is_empty() && self.held.len() < slots {
                self.exchange(api, 1, Vec::new()).await?;
            }
            let Some(grant) = self.offers.pop_front() else { return Ok(None) };
            let now = api.now();
            let timeout = grant.timeout.unwrap_or(TIMEOUT);
            let held = Held { lease: grant.lease, since: now, timeout, is_listed: false };
            self.held.insert(grant.lease.fence, held);
            match offer(&grant, &name) {
                Ok(mut offer) => {
                    // That it has started is said now; if it cannot be, the next request says it.
                    drop(self.exchange(api, 0, Vec::new()).await);
                    offer["lease_expires_at"] = Utc(self.expires_at(api)).to_string().into();
                    return Ok(Some(offer));
                }
                Err(reason) => self.fail(api, &grant, &reason).await?,
            }
        }
        Ok(None)
    }

    /// Fails a step that cannot be put in words, and says why where its output would be.
    async fn fail(&mut self, api: &Api, grant: &Grant, reason: &str) -> Result<(), Refused> {
        let LeaseRef { run, step, attempt, .. } = grant.lease;
        let log = LogId { run, step, attempt, delivery: grant.delivery };
        let said = format!("windlass: {reason}\n").into_bytes();
        // What cannot be kept fails no request.
        drop(api.kept.logs.append(log, 0, said).await);
        let outcome = Outcome::plain(OutcomeKind::Failed);
        self.complete(api, PlainStepId::of(grant.lease), outcome).await.map(drop)
    }

    /// Reports how an attempt ended.
    pub(super) async fn complete(
        &mut self,
        api: &Api,
        id: PlainStepId,
        outcome: Outcome,
    ) -> Result<Verdict, Refused> {
        let fence = id.fence;
        if api.handle.views().look(|view| view.engine.contradicts(id.lease(1), outcome.kind)) {
            let detail = format!("{id} has ended otherwise than `{}`, and ends stay", outcome.kind);
            return Err(Refused::conflict("other_outcome", detail));
        }
        let held = self.held.remove(&fence);
        let attempt = held.map_or(1, |held| held.lease.attempt);
        let ran = held.map(|held| api.now().since(held.since));
        let lease = id.lease(attempt);
        let body = self.exchange(api, 0, vec![Finished { lease, outcome, ran }]).await;
        if body.is_err() {
            // Whether it was heard is not known: until it is reported again the lease is still held.
            self.held.extend(held.map(|held| (fence, held)));
        }
        let body = body?;
        self.stops.remove(&fence);
        let verdict = body.verdicts.iter().find(|(judged, _)| *judged == fence);
        Ok(verdict.map_or(Verdict::Stale, |(_, verdict)| *verdict))
    }

    /// One round trip. The leader keeps an exchange that it has nothing to say to; the next one, which wants nothing, has
    /// it answered at once. A lease that is granted between the two is in the answer to the first.
    async fn exchange(
        &mut self,
        api: &Api,
        want: u32,
        finished: Vec<Finished>,
    ) -> Result<ReplyBody, Refused> {
        let (reports, asked_at) = (!finished.is_empty(), api.now());
        let exchange = api.handle.exchange(self.message(api, want, finished));
        let reply = if reports {
            exchange.await?
        } else {
            let next = api.handle.exchange(self.message(api, 0, Vec::new()));
            tokio::pin!(exchange, next);
            tokio::select! {
                biased;
                reply = &mut exchange => reply?,
                // It came later, so the first has its answer, or will never have one.
                _ = &mut next => exchange.await?,
            }
        };
        self.seen = self.seen.max(reply.seq);
        let body = reply.body.map_err(|refusal| refused(self.worker, &refusal))?;
        self.renewed_at = asked_at;
        self.take_in(&body);
        Ok(body)
    }

    fn message(&mut self, api: &Api, want: u32, finished: Vec<Finished>) -> Exchange {
        self.seq = Seq(self.seq.0 + 1);
        let held = self.held.values().map(|held| (held.lease, Phase::Started));
        let offers = self.offers.iter().map(|grant| (grant.lease, Phase::Queued));
        Exchange {
            worker: self.worker,
            drains: false,
            incarnation: self.incarnation,
            seq: self.seq,
            seen: self.seen,
            term: api.handle.views().look(|view| view.engine.term()),
            finished,
            in_flight: held.chain(offers).map(|(lease, phase)| InFlight { lease, phase }).collect(),
            want,
        }
    }

    fn take_in(&mut self, body: &ReplyBody) {
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

pub(super) fn refused(worker: WorkerId, refusal: &Refusal) -> Refused {
    match refusal {
        Refusal::NotRegistered => unknown(worker),
        Refusal::Superseded | Refusal::Ended => {
            Refused::conflict("not_this_life", refusal.to_string())
        }
        Refusal::Revoked => Refused::revoked_worker(worker),
        Refusal::BadSlots(_) => Refused::bad(refusal.to_string()),
        Refusal::OldSeq
        | Refusal::NameTaken { .. }
        | Refusal::TooManyWorkers(_)
        | Refusal::OtherWorker(_) => Refused::conflict("refused", refusal.to_string()),
    }
}
