//! All tokens and all worker credentials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::secret_digest::SecretDigest;
use super::token::{NewToken, TOKENS_MAX, TokenRecord, TokenStatus};
use super::worker_credential::{WORKER_CREDENTIALS_MAX, WorkerCredential};
use crate::id::{TokenId, WorkerId};
use crate::time::Time;

/// All tokens and all worker credentials. Expired and revoked ones are kept while there is room, so that their owner
/// gets a precise refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyring {
    /// The number of tokens created so far. Ids are never used again.
    made: u64,
    tokens: BTreeMap<TokenId, TokenRecord>,
    workers: BTreeMap<WorkerId, WorkerCredential>,
}

impl Keyring {
    /// Whether a token was ever created. From then on clients have to present one, even if all tokens have expired or
    /// were revoked: losing the last token must not open the controller.
    pub const fn requires_token(&self) -> bool {
        self.made > 0
    }

    /// Returns all tokens, oldest first.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &TokenRecord> {
        self.tokens.values()
    }

    /// Returns the token with this id, if it is known.
    pub fn token(&self, id: TokenId) -> Option<&TokenRecord> {
        self.tokens.get(&id)
    }

    /// Returns the token with this digest. All tokens are compared, so that the duration reveals nothing.
    pub fn token_by_digest(&self, digest: SecretDigest) -> Option<&TokenRecord> {
        let mut found = None;
        for record in self.tokens.values() {
            if record.token.digest == digest {
                found = Some(record);
            }
        }
        found
    }

    /// Returns the valid token with this name.
    pub fn token_by_name(&self, name: &str, now: Time) -> Option<&TokenRecord> {
        let is_valid = |it: &&TokenRecord| it.status(now) == TokenStatus::Valid;
        self.tokens.values().filter(is_valid).find(|it| &*it.token.name == name)
    }

    /// Returns all worker credentials.
    pub fn workers(&self) -> impl ExactSizeIterator<Item = (WorkerId, &WorkerCredential)> {
        self.workers.iter().map(|(id, enrolment)| (*id, enrolment))
    }

    /// Returns the credential of a worker, if it has one.
    pub fn worker(&self, id: WorkerId) -> Option<&WorkerCredential> {
        self.workers.get(&id)
    }

    /// Whether a worker's credential was revoked.
    pub fn is_revoked(&self, id: WorkerId) -> bool {
        self.workers.get(&id).is_some_and(|it| it.revoked.is_some())
    }

    /// Returns the id of the next token, if there is room for one.
    pub(crate) fn next_token_id(&self, now: Time) -> Option<TokenId> {
        let has_room = self.tokens.len() < TOKENS_MAX || self.oldest_inactive(now).is_some();
        has_room.then_some(TokenId(self.made + 1))
    }

    /// Returns the oldest token that is expired or revoked.
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

    /// Revokes a token. Returns false if there is no such token.
    pub(crate) fn revoke(&mut self, id: TokenId, now: Time) -> bool {
        let token = self.tokens.get_mut(&id);
        token.map(|token| token.revoked.get_or_insert(now)).is_some()
    }

    /// Adds a credential. If there is no room, the oldest valid credential of a worker that is not `known` is removed.
    /// A revoked one stays, because it must remain revoked.
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

    /// Revokes a worker's credential. Returns false if the worker has none.
    pub(crate) fn revoke_worker(&mut self, id: WorkerId, now: Time) -> bool {
        let enrolment = self.workers.get_mut(&id);
        enrolment.map(|enrolment| enrolment.revoked.get_or_insert(now)).is_some()
    }
}
