//! Every token and every worker's credential.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::secret_digest::SecretDigest;
use super::token::{NewToken, TOKENS_MAX, TokenRecord, TokenStatus};
use super::worker_credential::{WORKER_CREDENTIALS_MAX, WorkerCredential};
use crate::id::{TokenId, WorkerId};
use crate::time::Time;

/// Every token and every worker's credential. What is over is kept as long as there is room, so that who shows it can be
/// told what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyring {
    /// Tokens made so far: numbers are never used again.
    made: u64,
    tokens: BTreeMap<TokenId, TokenRecord>,
    workers: BTreeMap<WorkerId, WorkerCredential>,
}

impl Keyring {
    /// Whether a token was ever made. From then on who comes has to show one, also when all of them are over: a door
    /// that opens because its last key was lost is none.
    pub const fn requires_token(&self) -> bool {
        self.made > 0
    }

    /// Every token, oldest first.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &TokenRecord> {
        self.tokens.values()
    }

    /// A token, if it is known.
    pub fn token(&self, id: TokenId) -> Option<&TokenRecord> {
        self.tokens.get(&id)
    }

    /// The token that was shown. All of them are looked at, whichever it is: the time that it takes tells nothing.
    pub fn token_by_digest(&self, digest: SecretDigest) -> Option<&TokenRecord> {
        let mut found = None;
        for record in self.tokens.values() {
            if record.token.digest == digest {
                found = Some(record);
            }
        }
        found
    }

    /// The valid token of a name.
    pub fn token_by_name(&self, name: &str, now: Time) -> Option<&TokenRecord> {
        let is_valid = |it: &&TokenRecord| it.status(now) == TokenStatus::Valid;
        self.tokens.values().filter(is_valid).find(|it| &*it.token.name == name)
    }

    /// Every credential of a worker.
    pub fn workers(&self) -> impl ExactSizeIterator<Item = (WorkerId, &WorkerCredential)> {
        self.workers.iter().map(|(id, enrolment)| (*id, enrolment))
    }

    /// The credential of a worker, if it has one.
    pub fn worker(&self, id: WorkerId) -> Option<&WorkerCredential> {
        self.workers.get(&id)
    }

    /// Whether a worker's credential was ended.
    pub fn is_revoked(&self, id: WorkerId) -> bool {
        self.workers.get(&id).is_some_and(|it| it.revoked.is_some())
    }

    /// The number of the next token, if there is room for one.
    pub(crate) fn next_token_id(&self, now: Time) -> Option<TokenId> {
        let has_room = self.tokens.len() < TOKENS_MAX || self.oldest_inactive(now).is_some();
        has_room.then_some(TokenId(self.made + 1))
    }

    /// The oldest token that opens nothing any more.
    fn oldest_inactive(&self, now: Time) -> Option<TokenId> {
        let over = |it: &&TokenRecord| it.status(now) != TokenStatus::Valid;
        self.tokens.values().find(over).map(|it| it.id)
    }

    pub(crate) fn add(&mut self, id: TokenId, token: NewToken, now: Time) {
        if self.tokens.len() >= TOKENS_MAX
            && let Some(over) = self.oldest_inactive(now)
        {
            self.tokens.remove(&over);
        }
        self.made = self.made.max(id.0);
        self.tokens.insert(id, TokenRecord { id, token, created: now, revoked: None });
    }

    /// Takes a token back; false if there is none.
    pub(crate) fn revoke(&mut self, id: TokenId, now: Time) -> bool {
        let token = self.tokens.get_mut(&id);
        token.map(|token| token.revoked.get_or_insert(now)).is_some()
    }

    /// Keeps a credential. If there are as many as are kept, one goes whose worker is not `known`: the oldest that is
    /// valid, since one that was ended must stay so.
    pub(crate) fn enrol(
        &mut self,
        worker: WorkerId,
        enrolment: WorkerCredential,
        known: impl Fn(WorkerId) -> bool,
    ) {
        if self.workers.len() >= WORKER_CREDENTIALS_MAX && !self.workers.contains_key(&worker) {
            let away = self.workers.iter().filter(|(id, _)| !known(**id));
            let oldest = away.min_by_key(|(_, it)| (it.revoked.is_some(), it.since));
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                self.workers.remove(&oldest);
            }
        }
        self.workers.insert(worker, enrolment);
    }

    /// Ends a worker's credential; false if it has none.
    pub(crate) fn revoke_worker(&mut self, id: WorkerId, now: Time) -> bool {
        let enrolment = self.workers.get_mut(&id);
        enrolment.map(|enrolment| enrolment.revoked.get_or_insert(now)).is_some()
    }
}
