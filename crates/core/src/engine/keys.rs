//! Makes and takes back tokens and workers' credentials.

use super::decide::Out;
use super::event::Event;
use super::request::{Answer, Denial};
use super::state::Engine;
use crate::access::{Digest, NewToken, Principal};
use crate::id::{TokenId, WorkerId};
use crate::session::{Refusal, Register};

impl Engine {
    pub(super) fn create_token(&mut self, out: &mut Out, token: NewToken) -> Answer {
        if let Some(known) = self.keys.shown(token.digest) {
            return Answer::TokenCreated(known.id);
        }
        if token.scopes.is_empty() {
            return Answer::Denied(Denial::NoScope);
        }
        if let Some(other) = self.keys.named(&token.name, self.now) {
            let id = other.id;
            return Answer::Denied(Denial::TokenExists { name: token.name, id });
        }
        let Some(id) = self.keys.next(self.now) else {
            return Answer::Denied(Denial::TooManyTokens(self.keys.tokens().len()));
        };
        self.emit(out, Event::TokenCreated { id, token });
        Answer::TokenCreated(id)
    }

    pub(super) fn revoke_token(&mut self, out: &mut Out, id: TokenId) -> Answer {
        match self.keys.token(id) {
            None => return Answer::Denied(Denial::NoSuchToken(id)),
            Some(token) if token.revoked.is_some() => {}
            Some(_) => self.emit(out, Event::TokenRevoked { id }),
        }
        Answer::Done
    }

    /// Lets a worker in and keeps what its secret is known by. One that is here again is known already.
    pub(super) fn join(
        &mut self,
        out: &mut Out,
        register: Register,
        digest: Digest,
        by: Principal,
    ) -> Answer {
        let worker = register.worker;
        let answer = self.register(out, register);
        let known = self.keys.worker(worker).is_some_and(|it| it.digest == Some(digest));
        if matches!(answer, Answer::Registered(_)) && !known {
            self.emit(out, Event::WorkerEnrolled { worker, digest, by });
        }
        answer
    }

    /// Ends a worker's credential. An exchange of it that waits for an answer is refused now, every later one as well.
    pub(super) fn revoke_worker(&mut self, out: &mut Out, worker: WorkerId) -> Answer {
        let known = self.worker_ids.get(&worker).copied();
        if known.is_none() && self.keys.worker(worker).is_none() {
            return Answer::Denied(Denial::NoSuchWorker(worker));
        }
        if self.own == Some(worker) {
            return Answer::Denied(Denial::OwnWorker(worker));
        }
        if self.keys.is_revoked(worker) {
            return Answer::Done;
        }
        self.emit(out, Event::WorkerRevoked { worker });
        if let Some(known) = known {
            self.dismiss(out, known, Refusal::Revoked);
        }
        Answer::Done
    }
}
