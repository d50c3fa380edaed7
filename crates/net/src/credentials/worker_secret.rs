//! The identity of a worker: its id follows from a secret that only the worker knows.
//!
//! ```text
//!  secret ──► Ed25519 key ──► public key (the digest that a leader keeps) ──► worker id
//! ```
//!
//! Over HTTP a worker sends the secret itself, as it would send a token, and the leader derives the public key from it. On a
//! mailbox link other processes can read every message, so the worker signs each message and never sends the secret.

use std::fmt;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustix::rand::{GetRandomFlags, getrandom};
use windlass_core::access::SecretDigest;
use windlass_core::id::WorkerId;

const BYTES: usize = 32;

/// A worker's secret. It leaves the worker only over HTTP, as proof of identity: the worker id is a hash of the public key
/// that follows from the secret, so that no worker can choose the id of another.
#[derive(Clone, PartialEq, Eq)]
pub struct WorkerSecret {
    secret: [u8; BYTES],
    public_key: [u8; BYTES],
}

/// The text is not a worker's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a worker's secret has {} hexadecimal digits", 2 * BYTES)]
pub struct WorkerSecretError;

impl WorkerSecret {
    /// Creates a random secret.
    pub fn generate() -> std::io::Result<Self> {
        random_bytes().map(Self::of)
    }

    /// Parses the output of [`to_hex`](Self::to_hex).
    pub fn parse(text: &str) -> Result<Self, WorkerSecretError> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; BYTES];
        if digits.len() != 2 * BYTES {
            return Err(WorkerSecretError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(WorkerSecretError);
            *byte = u8::try_from(digit(0)? * 16 + digit(1)?).map_err(|_| WorkerSecretError)?;
        }
        Ok(Self::of(bytes))
    }

    fn of(secret: [u8; BYTES]) -> Self {
        let key = signing_key(&secret).public_key().as_ref().try_into();
        Self { secret, public_key: key.expect("a public key has 32 bytes") }
    }

    /// Signs a message with the worker's key.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        signing_key(&self.secret).sign(message).as_ref().to_vec()
    }

    /// Returns the secret as text, for the worker's state file and for HTTP requests.
    pub fn to_hex(&self) -> String {
        let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
        self.secret.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    /// Returns the id of the worker. Small ids are reserved for the leader's own worker.
    pub fn worker_id(&self) -> WorkerId {
        worker_id_of(self.digest())
    }

    /// Returns what a leader keeps: the public key, from which the secret cannot be derived.
    pub const fn digest(&self) -> SecretDigest {
        SecretDigest::new(self.public_key)
    }
}

fn signing_key(secret: &[u8; BYTES]) -> Ed25519KeyPair {
    let seed = blake3::derive_key("windlass worker signing key", secret);
    Ed25519KeyPair::from_seed_unchecked(&seed).expect("every 32 bytes are the seed of a key")
}

/// Returns whether the worker with this digest signed the message.
pub fn verify_signature(digest: SecretDigest, message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, digest.as_bytes()).verify(message, signature).is_ok()
}

/// Returns the id of the worker with this digest. A leader can therefore check a worker's id on links on which the secret
/// must not travel.
pub fn worker_id_of(digest: SecretDigest) -> WorkerId {
    let hash = blake3::derive_key("windlass worker id", digest.as_bytes());
    let number = u64::from_le_bytes(hash[..8].try_into().expect("a hash has 32 bytes"));
    WorkerId(number | 1 << 32)
}

/// Returns unpredictable bytes.
pub fn random_bytes() -> std::io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if filled < BYTES {
        return Err(std::io::Error::other("the system gave too few random bytes"));
    }
    Ok(bytes)
}

impl fmt::Debug for WorkerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerSecret(of {})", self.worker_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_read_from_text_has_the_same_worker_id() {
        let secret = WorkerSecret::generate().unwrap();
        let read = WorkerSecret::parse(&format!("{}\n", secret.to_hex())).unwrap();
        assert_eq!(read.worker_id(), secret.worker_id());
        assert_ne!(WorkerSecret::generate().unwrap().worker_id(), secret.worker_id());
    }

    #[test]
    fn signature_is_valid_for_its_secret_and_message_only() {
        let (own, other) = (WorkerSecret::generate().unwrap(), WorkerSecret::generate().unwrap());
        let signature = own.sign(b"to end it");
        assert!(verify_signature(own.digest(), b"to end it", &signature));
        assert!(!verify_signature(own.digest(), b"to end  it", &signature));
        assert!(!verify_signature(other.digest(), b"to end it", &signature));
        assert!(!verify_signature(own.digest(), b"to end it", &signature[1..]));
    }

    #[test]
    fn malformed_secret_is_refused_and_no_secret_is_printed() {
        assert_eq!(WorkerSecret::parse("abc"), Err(WorkerSecretError));
        assert_eq!(WorkerSecret::parse(&"z".repeat(64)), Err(WorkerSecretError));
        assert_eq!(WorkerSecret::parse(&"é".repeat(32)), Err(WorkerSecretError));
        let secret = WorkerSecret::generate().unwrap();
        assert!(!format!("{secret:?}").contains(&secret.to_hex()));
    }
}
