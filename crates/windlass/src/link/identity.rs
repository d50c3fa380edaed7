//! Who a worker is: whoever knows the secret that its number is made from.

use std::fmt;

use rustix::rand::{GetRandomFlags, getrandom};
use windlass_core::access::Digest;
use windlass_core::id::WorkerId;

const BYTES: usize = 32;

/// A worker's secret. It never leaves the worker but to prove, with each message, that the worker is who it says: its
/// number is a hash of it, so that nobody can choose the number of another. The leader keeps a digest of it.
#[derive(Clone, PartialEq, Eq)]
pub struct WorkerSecret([u8; BYTES]);

/// A text that is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a worker's secret is {} hexadecimal digits", 2 * BYTES)]
pub struct BadSecret;

impl WorkerSecret {
    /// A new one, by chance.
    pub fn generate() -> std::io::Result<Self> {
        random().map(Self)
    }

    /// Reads what [`to_hex`](Self::to_hex) wrote.
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; BYTES];
        if digits.len() != 2 * BYTES {
            return Err(BadSecret);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(BadSecret);
            *byte = u8::try_from(digit(0)? * 16 + digit(1)?).map_err(|_| BadSecret)?;
        }
        Ok(Self(bytes))
    }

    /// As text, for the worker's own file and for its messages.
    pub fn to_hex(&self) -> String {
        let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    /// The number of the worker whose secret it is. Small numbers are for the leader's own worker.
    pub fn worker_id(&self) -> WorkerId {
        number_of(self.digest())
    }

    /// What a leader keeps of it.
    pub fn digest(&self) -> Digest {
        Digest::new(blake3::derive_key("windlass worker credential", &self.0))
    }
}

/// The number of the worker whose secret has this digest. It follows from the digest, so that a leader can check who joins
/// where the secret itself must not travel.
pub fn number_of(digest: Digest) -> WorkerId {
    let hash = blake3::derive_key("windlass worker id", digest.as_bytes());
    let number = u64::from_le_bytes(hash[..8].try_into().expect("a hash has 32 bytes"));
    WorkerId(number | 1 << 32)
}

/// Chance that nobody can guess.
pub(super) fn random() -> std::io::Result<[u8; BYTES]> {
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
    fn a_secret_survives_its_file_and_keeps_its_number() {
        let secret = WorkerSecret::generate().unwrap();
        let read = WorkerSecret::parse(&format!("{}\n", secret.to_hex())).unwrap();
        assert_eq!(read.worker_id(), secret.worker_id());
        assert_ne!(WorkerSecret::generate().unwrap().worker_id(), secret.worker_id());
    }

    #[test]
    fn what_is_no_secret_is_refused_and_none_is_printed() {
        assert_eq!(WorkerSecret::parse("abc"), Err(BadSecret));
        assert_eq!(WorkerSecret::parse(&"z".repeat(64)), Err(BadSecret));
        assert_eq!(WorkerSecret::parse(&"é".repeat(32)), Err(BadSecret));
        let secret = WorkerSecret::generate().unwrap();
        assert!(!format!("{secret:?}").contains(&secret.to_hex()));
    }
}
