//! Creates and revokes tokens and worker credentials.

use super::decide::DecisionDraft;
use crate::access::{NewToken, Principal, SecretDigest};
use crate::engine::event;
use crate::engine::request::RequestDenial;
use crate::engine::state::engine::Engine;
use crate::id::{TokenId, WorkerId};
use crate::session::{RegisterReply, RegisterRequest, WorkerRefusal};

impl Engine {
    pub(in crate::engine) fn create_token(
        &mut self,
        out: &mut DecisionDraft,
        token: NewToken,
    ) -> Result<TokenId, RequestDenial> {
        if let Some(known) = self.keys.token_by_digest(token.digest) {
            return Ok(known.id);
        }
        if token.scopes.is_empty() {
            return Err(RequestDenial::NoScope);
        }
        if let Some(other) = self.keys.token_by_name(&token.name, self.now) {
            let id = other.id;
            return Err(RequestDenial::TokenExists { name: token.name, id });
        }
        let Some(id) = self.keys.next_token_id(self.now) else {
            return Err(RequestDenial::TooManyTokens(self.keys.tokens().len()));
        };
        self.emit(out, event::TokenCreated { id, token });
        Ok(id)
    }

    pub(in crate::engine) fn revoke_token(
        &mut self,
        out: &mut DecisionDraft,
        id: TokenId,
    ) -> Result<(), RequestDenial> {
        match self.keys.token(id) {
            None => return Err(RequestDenial::NoSuchToken(id)),
            Some(token) if token.revoked.is_some() => {}
            Some(_) => self.emit(out, event::TokenRevoked { id }),
        }
        Ok(())
    }

    /// Admits a worker and keeps the digest of its secret. A worker that returns is already known.
    pub(in crate::engine) fn join(
        &mut self,
        out: &mut DecisionDraft,
        register: RegisterRequest,
        digest: SecretDigest,
        by: Principal,
    ) -> Result<RegisterReply, WorkerRefusal> {
        let worker = register.worker;
        let reply = self.register(out, register)?;
        let known = self.keys.worker(worker).is_some_and(|it| it.digest == Some(digest));
        if !known {
            self.emit(out, event::WorkerEnrolled { worker, digest, by });
        }
        Ok(reply)
    }

    /// Revokes a worker's credential. Its parked exchange is refused now, and so is every later one.
    pub(in crate::engine) fn revoke_worker(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerId,
    ) -> Result<(), RequestDenial> {
        let known = self.worker_ids.get(&worker).copied();
        if known.is_none() && self.keys.worker(worker).is_none() {
            return Err(RequestDenial::NoSuchWorker(worker));
        }
        if self.own == Some(worker) {
            return Err(RequestDenial::OwnWorker(worker));
        }
        if self.keys.is_revoked(worker) {
            return Ok(());
        }
        self.emit(out, event::WorkerRevoked { worker });
        if let Some(known) = known {
            self.refuse_parked(out, known, WorkerRefusal::Revoked);
        }
        Ok(())
    }
}
