//! What a letter looks like: who it is from, which leader it is about, and the proof that its writer knows the secret.
//!
//! ```text
//!  1 byte    version
//!  8 bytes   epoch       of the leader that it is for or from
//!  8 bytes   from        the mailbox for the answer
//!  8 bytes   to
//!  8 bytes   number      of the question that it asks or answers
//!  …         body        postcard
//!  32 bytes  proof       BLAKE3, keyed, of everything before
//! ```
//!
//! Numbers are little-endian. A letter without a valid proof is as good as lost.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::mailboxes::{Epoch, Letter, Mailbox};

/// The version of this page and of the messages. It grows when an older end would misunderstand a newer.
const VERSION: u8 = 1;

const HEAD: usize = 1 + 4 * 8;
const PROOF: usize = blake3::OUT_LEN;

/// By what letters are proved: whoever has it is believed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; blake3::KEY_LEN]);

impl Key {
    /// That of a place with a secret. Without one the name of the place makes the key: whoever knows the name and reaches
    /// the mailboxes is believed then.
    pub fn new(place: &str, secret: Option<&str>) -> Self {
        let secret = blake3::derive_key("windlass link secret", secret.unwrap_or("").as_bytes());
        Self(*blake3::keyed_hash(&secret, place.as_bytes()).as_bytes())
    }

    /// As text, for the guard of a worker.
    pub fn to_hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Reads what [`to_hex`](Self::to_hex) wrote.
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A letter's outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Of the leader that it is for or from.
    pub epoch: Epoch,
    /// Where the answer is expected.
    pub from: Mailbox,
    /// For whom.
    pub to: Mailbox,
    /// Of the question that it asks or answers; 0 answers none.
    pub number: u64,
}

/// Why a letter was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// Its writer does not know the secret, or it was damaged.
    #[error("a letter whose writer does not know the run's secret")]
    Unproved,
    /// It is of another version.
    #[error(
        "a letter of protocol {0}, where {VERSION} is spoken: use one version of windlass everywhere"
    )]
    Version(u8),
    /// It is none of ours.
    #[error("a letter that makes no sense: {0}")]
    Nonsense(String),
}

impl Envelope {
    /// A letter with this outside.
    pub fn seal(&self, key: &Key, body: &impl Serialize) -> Letter {
        let mut bytes = Vec::with_capacity(HEAD + PROOF + 256);
        bytes.push(VERSION);
        for number in [self.epoch.0, self.from.0, self.to.0, self.number] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let mut bytes = postcard::to_extend(body, bytes).expect("messages are plain data");
        let proof = blake3::keyed_hash(&key.0, &bytes);
        bytes.extend_from_slice(proof.as_bytes());
        Letter { to: self.to, bytes }
    }

    /// Reads a letter that came to a mailbox.
    pub fn open<T: DeserializeOwned>(
        bytes: &[u8],
        key: &Key,
        own: Mailbox,
    ) -> Result<(Self, T), Unread> {
        let (signed, proof) = bytes.split_last_chunk::<PROOF>().ok_or(Unread::Unproved)?;
        // Compared in constant time.
        if blake3::keyed_hash(&key.0, signed) != blake3::Hash::from_bytes(*proof) {
            return Err(Unread::Unproved);
        }
        let (head, body) = signed.split_at_checked(HEAD).ok_or(Unread::Unproved)?;
        if head[0] != VERSION {
            return Err(Unread::Version(head[0]));
        }
        let number = |at: usize| {
            let bytes = head[1 + 8 * at..9 + 8 * at].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes were cut"))
        };
        let (epoch, from) = (Epoch(number(0)), Mailbox(number(1)));
        let envelope = Self { epoch, from, to: Mailbox(number(2)), number: number(3) };
        if envelope.to != own {
            // What was proved for one is not believed by another.
            return Err(Unread::Unproved);
        }
        let body = postcard::from_bytes(body);
        Ok((envelope, body.map_err(|error| Unread::Nonsense(error.to_string()))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: Envelope =
        Envelope { epoch: Epoch(3), from: Mailbox(77), to: Mailbox::LEADER, number: 9 };

    fn open(bytes: &[u8], key: &Key, own: Mailbox) -> Result<(Envelope, String), Unread> {
        Envelope::open(bytes, key, own)
    }

    #[test]
    fn what_is_sealed_is_read_by_who_has_the_key_and_by_nobody_else() {
        let key = Key::new("run-7", Some("secret"));
        let letter = OUTSIDE.seal(&key, &"hello");
        assert_eq!(open(&letter.bytes, &key, Mailbox::LEADER), Ok((OUTSIDE, "hello".to_owned())));
        for other in [("run-7", None), ("run-8", Some("secret")), ("run-7", Some("secreT"))] {
            let other = Key::new(other.0, other.1);
            assert_eq!(open(&letter.bytes, &other, Mailbox::LEADER), Err(Unread::Unproved));
        }
        let of_other = open(&letter.bytes, &key, Mailbox(5));
        assert_eq!(of_other, Err(Unread::Unproved), "it was for another");
        assert_eq!(Key::from_hex(&key.to_hex()), Some(key));
    }

    #[test]
    fn whatever_is_changed_or_cut_is_noticed() {
        let key = Key::new("run-7", None);
        let bytes = OUTSIDE.seal(&key, &"hello").bytes;
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(open(&changed, &key, Mailbox::LEADER), Err(Unread::Unproved), "{at}");
            assert!(open(&bytes[..at], &key, Mailbox::LEADER).is_err(), "{at}");
        }
    }

    #[test]
    fn another_version_is_told_as_such() {
        let key = Key::new("run-7", None);
        let mut bytes = OUTSIDE.seal(&key, &"hello").bytes;
        bytes.truncate(bytes.len() - PROOF);
        bytes[0] = 9;
        let proof = blake3::keyed_hash(&key.0, &bytes);
        bytes.extend_from_slice(proof.as_bytes());
        assert_eq!(open(&bytes, &key, Mailbox::LEADER), Err(Unread::Version(9)));
    }
}
