//! A token: what opens a controller to who shows it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::scope::AccessScopes;
use super::secret_digest::SecretDigest;
use crate::id::TokenId;
use crate::time::Time;
use crate::word_set;

/// Tokens that are kept, those that are over included: each has a person or a program behind it, and every request is
/// compared with all of them.
pub const TOKENS_MAX: usize = 1_000;

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// What it is for; no two that are valid share a name.
    pub name: Box<str>,
    /// What it allows.
    pub scopes: AccessScopes,
    /// What is kept of it. The same again is the same token.
    pub digest: SecretDigest,
    /// When it ends by itself, if it does.
    pub expires: Option<Time>,
}

/// A token, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// Which.
    pub id: TokenId,
    /// As it was asked for.
    pub token: NewToken,
    /// When it was made.
    pub created: Time,
    /// When it was taken back, if it was.
    pub revoked: Option<Time>,
}

/// Whether a token opens anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenStatus {
    /// It does.
    Valid,
    /// It was taken back.
    Revoked,
    /// Its time is over.
    Expired,
}

impl TokenRecord {
    /// Whether it opens anything at a time.
    pub fn status(&self, now: Time) -> TokenStatus {
        if self.revoked.is_some() {
            return TokenStatus::Revoked;
        }
        let is_over = self.token.expires.is_some_and(|expires| expires <= now);
        if is_over { TokenStatus::Expired } else { TokenStatus::Valid }
    }
}

word_set!(TokenStatus {
    Valid => "valid",
    Revoked => "revoked",
    Expired => "expired",
});

impl fmt::Display for TokenStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
