//! The digest that is kept of a secret.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The BLAKE3 hash of a secret that is too long to be guessed. It proves the secret without revealing it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// Returns the digest with this hash.
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Returns the hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Compares in constant time: the duration does not reveal how much of a guess was right.
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
