//! Calls: requests with the type of their answer.

use crate::access::{NewToken, Principal, SecretDigest};
use crate::engine::event::{CancelLevel, UnplaceablePolicy};
use crate::engine::request::{
    EngineAnswer, EngineRequest, RequestDenial, ResumeRun, SubmitRun, SubmitWarning,
};
use crate::engine::rules::WorkerContacts;
use crate::id::{Fence, Incarnation, RunId, TokenId, WorkerId};
use crate::session::{RegisterReply, RegisterRequest, WorkerRefusal};
use crate::time::Span;

/// A request to the engine, with the type `A` of its answer.
///
/// All requests travel through one inbox as [`EngineRequest`], and all answers come back as [`EngineAnswer`]. A call
/// keeps a request together with the function that reads its answer, so that the client handles only answers that
/// the request can get. There is one constructor per request.
#[derive(Debug)]
pub struct EngineCall<A> {
    request: EngineRequest,
    read: AnswerReader<A>,
}

/// Reads the answer of a request; `None` if the answer belongs to another kind of request.
pub type AnswerReader<A> = fn(EngineAnswer) -> Option<A>;

impl<A> EngineCall<A> {
    /// The same call on behalf of a principal: if it changes anything, the audit trail names the principal.
    #[must_use]
    pub fn by(self, by: Principal) -> Self {
        Self { request: self.request.by(by), read: self.read }
    }

    /// The request for the inbox, and the reader of its answer.
    pub fn into_parts(self) -> (EngineRequest, AnswerReader<A>) {
        (self.request, self.read)
    }
}

impl EngineCall<Result<RegisterReply, WorkerRefusal>> {
    /// Registers the leader's own worker, which needs no credential.
    pub fn register(register: RegisterRequest) -> Self {
        Self { request: EngineRequest::Register(register), read: registered }
    }

    /// Registers a worker, which authenticates itself with the secret of this digest from then on.
    pub fn join(register: RegisterRequest, digest: SecretDigest) -> Self {
        Self { request: EngineRequest::Join { register, digest }, read: registered }
    }
}

impl EngineCall<Result<(), WorkerRefusal>> {
    /// Reports that no process of an incarnation is left; `started` lists the leases that it had started and whose
    /// outcome it has not reported.
    pub fn guard_ended(worker: WorkerId, incarnation: Incarnation, started: Vec<Fence>) -> Self {
        let request = EngineRequest::GuardEnded { worker, incarnation, started };
        Self { request, read: accepted }
    }
}

impl EngineCall<Result<Vec<SubmitWarning>, RequestDenial>> {
    /// Submits a run.
    pub fn submit(submit: SubmitRun) -> Self {
        Self { request: EngineRequest::Submit(submit), read: submitted }
    }

    /// Resumes an interrupted run.
    pub fn resume(resume: ResumeRun) -> Self {
        Self { request: EngineRequest::Resume(resume), read: submitted }
    }
}

impl EngineCall<Result<TokenId, RequestDenial>> {
    /// Creates a token.
    pub fn create_token(token: NewToken) -> Self {
        Self { request: EngineRequest::CreateToken(token), read: token_created }
    }
}

impl EngineCall<WorkerContacts> {
    /// Reads when each worker was last in contact.
    pub const fn contacts() -> Self {
        Self { request: EngineRequest::Contacts, read: contacts }
    }
}

impl EngineCall<Result<(), RequestDenial>> {
    const fn change(request: EngineRequest) -> Self {
        Self { request, read: done }
    }

    /// Cancels a run.
    pub const fn cancel(run: RunId, level: CancelLevel) -> Self {
        Self::change(EngineRequest::Cancel { run, level })
    }

    /// Declares that no more workers will join for a run.
    pub const fn no_more_workers(run: RunId, unplaceable: UnplaceablePolicy) -> Self {
        Self::change(EngineRequest::NoMoreWorkers { run, unplaceable })
    }

    /// Begins an embargo for grants of another store, for the longest lease that may have been granted there.
    pub const fn embargo(lasts: Span) -> Self {
        Self::change(EngineRequest::Embargo { lasts })
    }

    /// Stops granting leases to a worker.
    pub const fn drain(worker: WorkerId) -> Self {
        Self::change(EngineRequest::Drain { worker })
    }

    /// Takes a lock from the lease that holds it.
    pub const fn force_release(lock: Box<str>, fence: Fence) -> Self {
        Self::change(EngineRequest::ForceRelease { lock, fence })
    }

    /// Removes an archived run from the engine.
    pub const fn seal(run: RunId) -> Self {
        Self::change(EngineRequest::Seal { run })
    }

    /// Revokes a worker's credential.
    pub const fn revoke_worker(worker: WorkerId) -> Self {
        Self::change(EngineRequest::RevokeWorker { worker })
    }

    /// Revokes a token.
    pub const fn revoke_token(token: TokenId) -> Self {
        Self::change(EngineRequest::RevokeToken { token })
    }
}

fn done(answer: EngineAnswer) -> Option<Result<(), RequestDenial>> {
    if let EngineAnswer::Denied(denial) = answer {
        return Some(Err(denial));
    }
    (answer == EngineAnswer::Done).then_some(Ok(()))
}

fn accepted(answer: EngineAnswer) -> Option<Result<(), WorkerRefusal>> {
    if let EngineAnswer::Refused(refusal) = answer {
        return Some(Err(refusal));
    }
    (answer == EngineAnswer::Done).then_some(Ok(()))
}

fn registered(answer: EngineAnswer) -> Option<Result<RegisterReply, WorkerRefusal>> {
    if let EngineAnswer::Refused(refusal) = answer {
        return Some(Err(refusal));
    }
    if let EngineAnswer::Registered(reply) = answer { Some(Ok(reply)) } else { None }
}

fn submitted(answer: EngineAnswer) -> Option<Result<Vec<SubmitWarning>, RequestDenial>> {
    if let EngineAnswer::Denied(denial) = answer {
        return Some(Err(denial));
    }
    if let EngineAnswer::Submitted { warnings } = answer { Some(Ok(warnings)) } else { None }
}

fn token_created(answer: EngineAnswer) -> Option<Result<TokenId, RequestDenial>> {
    if let EngineAnswer::Denied(denial) = answer {
        return Some(Err(denial));
    }
    if let EngineAnswer::TokenCreated(id) = answer { Some(Ok(id)) } else { None }
}

fn contacts(answer: EngineAnswer) -> Option<WorkerContacts> {
    if let EngineAnswer::Contacts(contacts) = answer { Some(contacts) } else { None }
}

/// The answer that a rule returns fits its request: the readers above are the inverse of these conversions.
impl From<Result<(), RequestDenial>> for EngineAnswer {
    fn from(result: Result<(), RequestDenial>) -> Self {
        result.map_or_else(Self::Denied, |()| Self::Done)
    }
}

impl From<Result<(), WorkerRefusal>> for EngineAnswer {
    fn from(result: Result<(), WorkerRefusal>) -> Self {
        result.map_or_else(Self::Refused, |()| Self::Done)
    }
}

impl From<Result<RegisterReply, WorkerRefusal>> for EngineAnswer {
    fn from(result: Result<RegisterReply, WorkerRefusal>) -> Self {
        result.map_or_else(Self::Refused, Self::Registered)
    }
}

impl From<Result<Vec<SubmitWarning>, RequestDenial>> for EngineAnswer {
    fn from(result: Result<Vec<SubmitWarning>, RequestDenial>) -> Self {
        result.map_or_else(Self::Denied, |warnings| Self::Submitted { warnings })
    }
}

impl From<Result<TokenId, RequestDenial>> for EngineAnswer {
    fn from(result: Result<TokenId, RequestDenial>) -> Self {
        result.map_or_else(Self::Denied, Self::TokenCreated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_reads_only_answers_of_its_request() {
        let (_, read) = EngineCall::drain(WorkerId(1)).into_parts();
        let denial = RequestDenial::NoSuchWorker(WorkerId(1));
        assert_eq!(read(EngineAnswer::Done), Some(Ok(())));
        assert_eq!(read(EngineAnswer::Denied(denial.clone())), Some(Err(denial)));
        assert_eq!(read(EngineAnswer::Exchanged), None);
    }
}
