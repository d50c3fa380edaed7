//! Tokens: the credentials of clients.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::scope::AccessScopes;
use super::secret_digest::SecretDigest;
use crate::id::TokenId;
use crate::time::Time;
use crate::word_set;

/// Tokens that are kept, expired and revoked ones included. Each belongs to a person or a program, and every request is
/// compared with all of them.
pub const TOKENS_MAX: usize = 1_000;

/// A token that is to be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// Its name. Names of valid tokens are unique.
    pub name: Box<str>,
    /// Its scopes.
    pub scopes: AccessScopes,
    /// The digest of its secret. A request with the same digest is for the same token.
    pub digest: SecretDigest,
    /// The time at which it expires, if it does.
    pub expires: Option<Time>,
}

/// A token that was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// Its id.
    pub id: TokenId,
    /// The token as requested.
    pub token: NewToken,
    /// The time of its creation.
    pub created: Time,
    /// The time at which it was revoked, if it was.
    pub revoked: Option<Time>,
}

/// Whether a token is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenStatus {
    /// It is valid.
    Valid,
    /// It was revoked.
    Revoked,
    /// It has expired.
    Expired,
}

impl TokenRecord {
    /// Returns its status at this time.
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
