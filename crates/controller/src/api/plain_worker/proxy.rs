//! A foreign worker's end of its session.

use std::collections::VecDeque;

use serde_json::Value;
use windlass_core::access::Principal;
use windlass_core::engine::{EngineAnswer, EngineRequest};
use windlass_core::id::{Fence, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::report::UtcTime;
use windlass_core::session::{
    ExchangeReplyBody, FinishedAttempt, LeaseGrant, LeaseRef, OutcomeVerdict, PlainWorkerSession,
    WorkerRefusal,
};
use windlass_core::time::{Span, Time};
use windlass_store::logs::{LogId, LogStore as _};

use super::offer::offer;
use super::proxies::unknown;
use super::step_id::PlainStepId;
use crate::api::api_error::ApiError;
use crate::api::router::Api;

/// Answers to claims that are remembered.
const ANSWERS_MAX: usize = 64;

/// Steps that are failed in one claim because they cannot be put in words.
const UNFIT_MAX: usize = 16;

/// What is known of a foreign worker that it does not say with every request.
#[derive(Debug)]
pub(super) struct PlainWorkerProxy {
    worker: WorkerId,
    session: PlainWorkerSession,
    answers: VecDeque<ClaimAnswer>,
}

/// What a claim was answered.
#[derive(Debug)]
struct ClaimAnswer {
    request: String,
    step: Option<(Fence, Value)>,
}

impl PlainWorkerProxy {
    /// The proxy of a worker, from what is durable; `None` if it is not registered.
    pub(super) fn rebuilt(api: &Api, worker: WorkerId) -> Option<Self> {
        let session = api.handle.views().look(|view| view.engine.plain_session(worker))?;
        Some(Self { worker, session, answers: VecDeque::new() })
    }

    /// Makes the session anew if this controller has begun another term: meanwhile the worker may have got leases from another
    /// leader, which would end as forgotten if the session did not list them.
    pub(super) fn follow_term(&mut self, api: &Api) -> Result<(), ApiError> {
        let life = self.session.life();
        if api.handle.views().look(|view| view.engine.term()) == life.term {
            return Ok(());
        }
        let fresh = api.handle.views().look(|view| view.engine.plain_session(self.worker));
        let fresh = fresh.ok_or_else(|| unknown(self.worker))?;
        if fresh.life().incarnation != life.incarnation {
            return Err(refused(self.worker, &WorkerRefusal::Superseded));
        }
        self.session = fresh;
        Ok(())
    }

    /// Renews what the worker holds, and says what it must stop, and until when the rest is renewed.
    pub(super) async fn heartbeat(
        &mut self,
        api: &Api,
        listed: Option<&[Fence]>,
    ) -> Result<(Vec<Fence>, Time), ApiError> {
        self.follow_term(api)?;
        self.session.heartbeat(listed, api.now());
        self.exchange(api, 0, Vec::new()).await?;
        Ok((self.session.stops(), self.expires_at(api)))
    }

    /// When the worker has to take its leases for ended: a margin before the leader does.
    fn expires_at(&self, api: &Api) -> Time {
        let leader = api.handle.views().look(|view| view.engine.leader());
        self.session.expires_at(leader.map_or(Span::ZERO, |leader| leader.ttl))
    }

    /// The worker leaves. Without steps that may still run, everything that it had ends now; else it gets no more leases,
    /// and those steps end by time. Returns when that is.
    pub(super) async fn goodbye(
        &mut self,
        api: &Api,
        running: &[Fence],
        by: Principal,
    ) -> Result<Option<Time>, ApiError> {
        self.follow_term(api)?;
        let (worker, incarnation) = (self.worker, self.session.life().incarnation);
        if running.is_empty() {
            let started = self.session.held();
            self.settle(api, EngineRequest::GuardEnded { worker, incarnation, started }).await?;
            self.session.on_left();
            return Ok(None);
        }
        self.settle(api, EngineRequest::Drain { worker }.by(by)).await?;
        let unclaimed = self.session.on_leaving(running);
        self.exchange(api, 0, unclaimed).await?;
        Ok(Some(self.expires_at(api)))
    }

    /// Has something decided that is done or refused.
    async fn settle(&self, api: &Api, request: EngineRequest) -> Result<(), ApiError> {
        match api.handle.ask(request).await? {
            EngineAnswer::Done => Ok(()),
            EngineAnswer::Refused(refusal) => Err(refused(self.worker, &refusal)),
            EngineAnswer::Denied(denial) => Err(denial.into()),
            other => unreachable!("a goodbye is taken or refused, not {other:?}"),
        }
    }

    /// The next step for the worker, if there is one now. The same request again gets the same answer while the lease in it
    /// goes on.
    pub(super) async fn claim(
        &mut self,
        api: &Api,
        request: Option<&str>,
    ) -> Result<Option<Value>, ApiError> {
        self.follow_term(api)?;
        if let Some(known) =
            self.answers.iter().find(|known| Some(known.request.as_str()) == request)
            && known.step.as_ref().is_none_or(|(fence, _)| self.session.holds(*fence))
        {
            return Ok(known.step.clone().map(|(_, offer)| offer));
        }
        let step = self.next(api).await?;
        if let Some(request) = request {
            self.answers.retain(|known| known.request != request);
            self.answers.truncate(ANSWERS_MAX - 1);
            self.answers
                .push_front(ClaimAnswer { request: request.to_owned(), step: step.clone() });
        }
        Ok(step.map(|(_, offer)| offer))
    }

    async fn next(&mut self, api: &Api) -> Result<Option<(Fence, Value)>, ApiError> {
        let known = api.handle.views().look(|view| {
            let known = view.engine.workers().find(|known| known.id == self.worker)?;
            Some((known.name.into_owned(), known.slots as usize))
        });
        let (name, slots) = known.ok_or_else(|| unknown(self.worker))?;
        for _ in 0..UNFIT_MAX {
            if self.session.needs_offer(slots) {
                self.exchange(api, 1, Vec::new()).await?;
            }
            let Some(grant) = self.session.claim(api.now()) else { return Ok(None) };
            match offer(&grant, &name) {
                Ok(mut offer) => {
                    // That it has started is said now; if it cannot be, the next request says it.
                    drop(self.exchange(api, 0, Vec::new()).await);
                    let fence = grant.lease.fence;
                    if !self.session.holds(fence) {
                        // The lease has ended while the store was slow.
                        continue;
                    }
                    offer["lease_expires_at"] = UtcTime(self.expires_at(api)).to_string().into();
                    return Ok(Some((fence, offer)));
                }
                Err(reason) => self.fail(api, &grant, &reason).await?,
            }
        }
        Ok(None)
    }

    /// Fails a step that cannot be put in words, and says why where its output would be.
    async fn fail(&mut self, api: &Api, grant: &LeaseGrant, reason: &str) -> Result<(), ApiError> {
        let LeaseRef { run, step, attempt, .. } = grant.lease;
        let log = LogId { run, step, attempt, delivery: grant.delivery };
        let said = format!("windlass: {reason}\n").into_bytes();
        // What cannot be kept fails no request.
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
        if api.handle.views().look(|view| view.engine.contradicts(id.lease(1), outcome.kind)) {
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

    /// One round trip. The leader keeps an exchange that it has nothing to say to; the next one, which wants nothing, has
    /// it answered at once. A lease that is granted between the two is in the answer to the first.
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
                // It came later, so the first has its answer, or will never have one.
                _ = &mut next => exchange.await?,
            }
        };
        let worker = self.worker;
        self.session.on_reply(reply, asked_at).map_err(|refusal| refused(worker, &refusal))
    }
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
