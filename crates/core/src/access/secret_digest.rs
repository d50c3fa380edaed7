//! What is kept of a secret.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The BLAKE3 hash of a secret that is too long to be guessed. It proves the secret and does not tell it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// The digest that a hash is.
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The hash that it is.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Digests compare in constant time: how long it takes does not tell how much of a guess was right.
impl PartialEq for SecretDigest {
    fn eq(&self, other: &Self) -> bool {
        blake3::Hash::from_bytes(self.0) == blake3::Hash::from_bytes(other.0)
    }
}

impl Eq for SecretDigest {}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", blake3::Hash::from_bytes(self.0).to_hex())
    }
}
