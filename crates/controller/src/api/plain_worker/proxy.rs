//! The worker's end of a session, for a plain worker.

use std::collections::VecDeque;

use windlass_core::access::Principal;
use windlass_core::engine::EngineCall;
use windlass_core::id::{Fence, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::report::UtcTime;
use windlass_core::session::{
    ExchangeReplyBody, FinishedAttempt, LeaseGrant, LeaseRef, OutcomeVerdict, PlainWorkerSession,
    WorkerRefusal,
};
use windlass_core::time::{Span, Time};
use windlass_store::logs::{LogId, LogStore as _};

use super::bodies::PlainOfferBody;
use super::offer::offer;
use super::proxies::unknown;
use super::step_id::PlainStepId;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

/// The most answers to claims that a proxy remembers.
const ANSWERS_MAX: usize = 64;

/// The most steps that fail in one claim because a plain worker cannot execute them.
const UNFIT_MAX: usize = 16;

/// The state of a plain worker that its requests do not contain.
#[derive(Debug)]
pub(super) struct PlainWorkerProxy {
    worker: WorkerId,
    session: PlainWorkerSession,
    answers: VecDeque<ClaimAnswer>,
}

/// The answer to a claim.
#[derive(Debug)]
struct ClaimAnswer {
    request: String,
    step: Option<(Fence, PlainOfferBody)>,
}

impl PlainWorkerProxy {
    /// Rebuilds the proxy of a worker from durable state; `None` if the worker is not registered.
    pub(super) fn rebuilt(api: &Api, worker: WorkerId) -> Option<Self> {
        let session = api.handle.views().with(|view| view.engine.plain_session(worker))?;
        Some(Self { worker, session, answers: VecDeque::new() })
    }

    /// Rebuilds the session if this controller has begun another term. In between, another leader may have granted leases,
    /// which would end as forgotten if the session did not list them.
    pub(super) fn follow_term(&mut self, api: &Api) -> Result<(), ApiError> {
        let config = self.session.config();
        if api.handle.views().with(|view| view.engine.term()) == config.term {
            return Ok(());
        }
        let fresh = api.handle.views().with(|view| view.engine.plain_session(self.worker));
        let fresh = fresh.ok_or_else(|| unknown(self.worker))?;
        if fresh.config().incarnation != config.incarnation {
            return Err(refused(self.worker, &WorkerRefusal::Superseded));
        }
        self.session = fresh;
        Ok(())
    }

    /// Renews leases; returns the leases whose steps the worker must stop, and when the others expire.
    pub(super) async fn heartbeat(
        &mut self,
        api: &Api,
        listed: Option<&[Fence]>,
    ) -> Result<(Vec<Fence>, Time), ApiError> {
        self.follow_term(api)?;
        self.session.heartbeat(listed, ttl(api), api.now());
        self.exchange(api, 0, Vec::new()).await?;
        Ok((self.session.stops(), self.expires_at(api)))
    }

    /// When the leases expire for the worker: a margin before they expire for the leader.
    fn expires_at(&self, api: &Api) -> Time {
        self.session.expires_at(ttl(api))
    }

    /// The worker leaves. If no step may still run, all its leases end now. Otherwise it gets no more leases, and those of
    /// these steps expire. Returns the steps to stop, whose leases may expire earlier, and when the others expire.
    pub(super) async fn goodbye(
        &mut self,
        api: &Api,
        running: &[Fence],
        by: Principal,
    ) -> Result<(Vec<Fence>, Option<Time>), ApiError> {
        self.follow_term(api)?;
        let (worker, incarnation) = (self.worker, self.session.config().incarnation);
        if running.is_empty() {
            let started = self.session.held();
            let ended = EngineCall::guard_ended(worker, incarnation, started);
            api.handle.call(ended).await?.map_err(|refusal| refused(worker, &refusal))?;
            self.session.on_left();
            return Ok((Vec::new(), None));
        }
        api.handle.call(EngineCall::drain(worker).by(by)).await??;
        let unclaimed = self.session.on_leaving(running);
        self.exchange(api, 0, unclaimed).await?;
        Ok((self.session.stops(), Some(self.expires_at(api))))
    }

    /// Claims the next step for the worker, if one is ready. A repeated request gets the same answer while its lease is
    /// open.
    pub(super) async fn claim(
        &mut self,
        api: &Api,
        request: Option<&str>,
    ) -> Result<Option<PlainOfferBody>, ApiError> {
        self.follow_term(api)?;
        if let Some(known) =
            self.answers.iter().find(|known| Some(known.request.as_str()) == request)
            && known.step.as_ref().is_none_or(|(fence, _)| self.session.holds(*fence))
        {
            return Ok(known.step.clone().map(|(_, offer)| offer));
        }
        let step = self.next(api).await?;
        if let Some(request) = request {
            self.remember_answer(ClaimAnswer { request: request.to_owned(), step: step.clone() });
        }
        Ok(step.map(|(_, offer)| offer))
    }

    fn remember_answer(&mut self, answer: ClaimAnswer) {
        self.answers.retain(|known| known.request != answer.request);
        self.answers.truncate(ANSWERS_MAX - 1);
        self.answers.push_front(answer);
    }

    async fn next(&mut self, api: &Api) -> Result<Option<(Fence, PlainOfferBody)>, ApiError> {
        let known = api.handle.views().with(|view| {
            let known = view.engine.workers().find(|known| known.id == self.worker)?;
            Some((known.name.into_owned(), known.slots as usize))
        });
        let (name, slots) = known.ok_or_else(|| unknown(self.worker))?;
        for _ in 0..UNFIT_MAX {
            if self.session.needs_offer(slots) {
                self.exchange(api, 1, Vec::new()).await?;
            }
            let Some(grant) = self.session.claim(api.now()) else { return Ok(None) };
            match offer(&grant, &name, self.expires_at(api)) {
                Ok(mut offer) => {
                    // Reports the start. If this exchange fails, the next request reports it.
                    drop(self.exchange(api, 0, Vec::new()).await);
                    let fence = grant.lease.fence;
                    if !self.session.holds(fence) {
                        // The lease has ended while the exchange waited for the store.
                        continue;
                    }
                    offer.lease_expires_at = UtcTime(self.expires_at(api));
                    return Ok(Some((fence, offer)));
                }
                Err(reason) => self.fail(api, &grant, &reason).await?,
            }
        }
        Ok(None)
    }

    /// Fails a step that a plain worker cannot execute, and writes the reason to its log.
    async fn fail(&mut self, api: &Api, grant: &LeaseGrant, reason: &str) -> Result<(), ApiError> {
        let LeaseRef { run, step, attempt, .. } = grant.lease;
        let log = LogId::new(run, step, attempt, grant.delivery);
        let said = format!("windlass: {reason}\n").into_bytes();
        // An error of the log store does not fail the request.
        drop(api.stores.logs.append(log, 0, said).await);
        let outcome = Outcome::plain(OutcomeKind::Failed);
        self.complete(api, PlainStepId::of(grant.lease), outcome).await.map(drop)
    }

    /// Reports how an attempt ended.
    pub(super) async fn complete(
        &mut self,
        api: &Api,
        id: PlainStepId,
        outcome: Outcome,
    ) -> Result<OutcomeVerdict, ApiError> {
        self.follow_term(api)?;
        if api.handle.views().with(|view| view.engine.contradicts(id.lease(1), outcome.kind)) {
            let detail = format!("{id} has ended otherwise than `{}`, and ends stay", outcome.kind);
            return Err(ApiError::conflict("other_outcome", detail));
        }
        let (finished, held) = self.session.complete(id.lease(1), outcome, api.now());
        let body = self.exchange(api, 0, vec![finished]).await;
        if body.is_err() {
            self.session.report_unanswered(held);
        }
        Ok(self.session.outcome_verdict(id.fence, &body?))
    }

    /// One round trip. The leader parks an exchange without news; a second exchange that wants nothing makes it answer the
    /// first at once. A lease that is granted between the two is in the answer to the first.
    async fn exchange(
        &mut self,
        api: &Api,
        want: u32,
        finished: Vec<FinishedAttempt>,
    ) -> Result<ExchangeReplyBody, ApiError> {
        let (reports, asked_at) = (!finished.is_empty(), api.now());
        let exchange = api.handle.exchange(self.session.next_exchange(want, finished));
        let reply = if reports {
            exchange.await?
        } else {
            let next = api.handle.exchange(self.session.next_exchange(0, Vec::new()));
            tokio::pin!(exchange, next);
            tokio::select! {
                biased;
                reply = &mut exchange => reply?,
                // The second exchange is answered, so the first is answered too, or never will be.
                _ = &mut next => exchange.await?,
            }
        };
        let worker = self.worker;
        self.session.on_reply(reply, asked_at).map_err(|refusal| refused(worker, &refusal))
    }
}

/// Returns the lease duration of the leader.
fn ttl(api: &Api) -> Span {
    let leader = api.handle.views().with(|view| view.engine.leader());
    leader.map_or(Span::ZERO, |leader| leader.ttl)
}

pub(super) fn refused(worker: WorkerId, refusal: &WorkerRefusal) -> ApiError {
    match refusal {
        WorkerRefusal::NotRegistered => unknown(worker),
        WorkerRefusal::Superseded | WorkerRefusal::Ended => {
            ApiError::conflict("not_this_life", refusal.to_string())
        }
        WorkerRefusal::Revoked => ApiError::revoked_worker(worker),
        WorkerRefusal::BadSlots(_) => ApiError::bad_request(refusal.to_string()),
        WorkerRefusal::OldSeq
        | WorkerRefusal::NameTaken { .. }
        | WorkerRefusal::TooManyWorkers(_)
        | WorkerRefusal::OtherWorker(_) => ApiError::conflict("refused", refusal.to_string()),
    }
}
