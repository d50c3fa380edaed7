//! The format of a message: sender, epoch of the leader, and a proof that the sender knows the secret.
//!
//! ```text
//!  1 byte    version
//!  8 bytes   epoch       of the leader that it is for or from
//!  8 bytes   from        the mailbox for the answer
//!  8 bytes   to
//!  8 bytes   number      of the request that it is or answers
//!  2 bytes   part        index in a payload that needs several messages, from 0
//!  2 bytes   parts
//!  …         body        postcard, or the part of it
//!  32 bytes  proof       BLAKE3, keyed, of everything before
//! ```
//!
//! Numbers are little-endian. A message without a valid proof counts as lost.

use std::fmt;

use serde::Serialize;

use super::mailboxes::{
    BindingEpoch, MAILBOX_MESSAGE_MAX, MailboxError, MailboxId, MailboxMessage,
};

/// The version of this format and of the payloads. It grows when an older end would misunderstand a newer one.
const VERSION: u8 = 1;

const NUMBERS: usize = 4 * 8;
const HEAD: usize = 1 + NUMBERS + 2 * 2;
const PROOF: usize = blake3::OUT_LEN;

/// The most bytes of a payload, in parts: the limit over HTTP.
pub(super) const PAYLOAD_MAX: usize = 16 << 20;

/// The most bytes of a payload in one message.
const PAYLOAD_PART_MAX: usize = MAILBOX_MESSAGE_MAX - HEAD - PROOF;

/// The key that proves messages. A sender that has it is trusted.
#[derive(Clone, PartialEq, Eq)]
pub struct MailboxKey([u8; blake3::KEY_LEN]);

impl MailboxKey {
    /// Derives the key of a mailbox address from a secret. Without a secret the key follows from the name of the
    /// address: any sender that knows the name and reaches the mailboxes is trusted then.
    pub fn new(place: &str, secret: Option<&str>) -> Self {
        let secret = blake3::derive_key("windlass link secret", secret.unwrap_or("").as_bytes());
        Self(*blake3::keyed_hash(&secret, place.as_bytes()).as_bytes())
    }

    /// Returns the key as text, for the guard of a worker.
    pub fn to_hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Parses the output of [`to_hex`](Self::to_hex).
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Debug for MailboxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailboxKey(…)")
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEnvelope {
    /// The epoch of the leader that sends or receives it.
    pub epoch: BindingEpoch,
    /// The mailbox for the answer.
    pub from: MailboxId,
    /// The receiving mailbox.
    pub to: MailboxId,
    /// The number of the request that it is or answers; 0 if it answers none.
    pub number: u64,
}

/// Why a message could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableMessage {
    /// The sender does not know the secret, or the message was damaged.
    #[error(
        "received a message whose sender does not know the secret: set the same WINDLASS_RUN_SECRET everywhere"
    )]
    BadProof,
    /// The message has another protocol version.
    #[error(
        "received a message of protocol {0}, but this windlass speaks {VERSION}: use one version of windlass everywhere"
    )]
    Version(u8),
    /// The message is not one of this protocol.
    #[error("received a malformed message: {0}")]
    Malformed(String),
}

/// The part of a payload that one message carries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PayloadPart<'a> {
    /// The index of the part, from 0.
    pub(super) at: u16,
    /// The number of parts.
    pub(super) of: u16,
    pub(super) bytes: &'a [u8],
}

impl MessageEnvelope {
    /// Seals a payload under this envelope: one message, or as many as it needs.
    pub fn seal(
        &self,
        key: &MailboxKey,
        message: &impl Serialize,
    ) -> Result<Vec<MailboxMessage>, MailboxError> {
        let message = postcard::to_stdvec(message).expect("messages are plain data");
        if message.len() > PAYLOAD_MAX {
            return Err(MailboxError::TooLarge { bytes: message.len() });
        }
        let parts: Vec<&[u8]> = message.chunks(PAYLOAD_PART_MAX).collect();
        let of = u16::try_from(parts.len().max(1)).expect("a message has a bound");
        let nothing: &[u8] = &[];
        let parts = if parts.is_empty() { vec![nothing] } else { parts };
        let parts = (0..of).zip(parts).map(|(at, bytes)| PayloadPart { at, of, bytes });
        Ok(parts.map(|part| self.seal_part(key, &part)).collect())
    }

    fn seal_part(&self, key: &MailboxKey, part: &PayloadPart<'_>) -> MailboxMessage {
        let mut bytes = Vec::with_capacity(HEAD + part.bytes.len() + PROOF);
        bytes.push(VERSION);
        for number in [self.epoch.0, self.from.0, self.to.0, self.number] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&part.at.to_le_bytes());
        bytes.extend_from_slice(&part.of.to_le_bytes());
        bytes.extend_from_slice(part.bytes);
        let proof = blake3::keyed_hash(&key.0, &bytes);
        bytes.extend_from_slice(proof.as_bytes());
        MailboxMessage { to: self.to, bytes }
    }

    /// Opens a message that arrived in mailbox `own`.
    pub(super) fn open<'a>(
        bytes: &'a [u8],
        key: &MailboxKey,
        own: MailboxId,
    ) -> Result<(Self, PayloadPart<'a>), UnreadableMessage> {
        let (signed, proof) =
            bytes.split_last_chunk::<PROOF>().ok_or(UnreadableMessage::BadProof)?;
        // `blake3::Hash` compares in constant time.
        if blake3::keyed_hash(&key.0, signed) != blake3::Hash::from_bytes(*proof) {
            return Err(UnreadableMessage::BadProof);
        }
        let version = signed.first().ok_or(UnreadableMessage::BadProof)?;
        if *version != VERSION {
            return Err(UnreadableMessage::Version(*version));
        }
        let (head, bytes) = signed.split_at_checked(HEAD).ok_or(UnreadableMessage::BadProof)?;
        let number = |at: usize| {
            let bytes = head[1 + 8 * at..9 + 8 * at].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes were cut"))
        };
        let small = |at: usize| {
            let bytes = head[1 + NUMBERS + 2 * at..3 + NUMBERS + 2 * at].try_into();
            u16::from_le_bytes(bytes.expect("two bytes were cut"))
        };
        let (epoch, from) = (BindingEpoch(number(0)), MailboxId(number(1)));
        let envelope = Self { epoch, from, to: MailboxId(number(2)), number: number(3) };
        if envelope.to != own {
            // A proof for one mailbox is not valid for another.
            return Err(UnreadableMessage::BadProof);
        }
        Ok((envelope, PayloadPart { at: small(0), of: small(1), bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: MessageEnvelope = MessageEnvelope {
        epoch: BindingEpoch(3),
        from: MailboxId(77),
        to: MailboxId::LEADER,
        number: 9,
    };

    fn seal(key: &MailboxKey) -> Vec<u8> {
        let mut messages = OUTSIDE.seal(key, &"hello").unwrap();
        assert_eq!(messages.len(), 1);
        messages.remove(0).bytes
    }

    fn open(
        bytes: &[u8],
        key: &MailboxKey,
        own: MailboxId,
    ) -> Result<(MessageEnvelope, String), UnreadableMessage> {
        let (envelope, part) = MessageEnvelope::open(bytes, key, own)?;
        assert_eq!((part.at, part.of), (0, 1));
        Ok((envelope, postcard::from_bytes(part.bytes).unwrap()))
    }

    #[test]
    fn sealed_message_is_readable_only_with_the_key() {
        let key = MailboxKey::new("run-7", Some("secret"));
        let sealed = seal(&key);
        assert_eq!(open(&sealed, &key, MailboxId::LEADER), Ok((OUTSIDE, "hello".to_owned())));
        for other in [("run-7", None), ("run-8", Some("secret")), ("run-7", Some("secreT"))] {
            let other = MailboxKey::new(other.0, other.1);
            assert_eq!(open(&sealed, &other, MailboxId::LEADER), Err(UnreadableMessage::BadProof));
        }
        let of_other = open(&sealed, &key, MailboxId(5));
        assert_eq!(of_other, Err(UnreadableMessage::BadProof), "for another mailbox");
        assert_eq!(MailboxKey::from_hex(&key.to_hex()), Some(key));
    }

    #[test]
    fn changed_or_truncated_message_is_rejected() {
        let key = MailboxKey::new("run-7", None);
        let bytes = seal(&key);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(
                open(&changed, &key, MailboxId::LEADER),
                Err(UnreadableMessage::BadProof),
                "{at}"
            );
            assert!(open(&bytes[..at], &key, MailboxId::LEADER).is_err(), "{at}");
        }
    }

    #[test]
    fn unknown_envelope_version_is_reported() {
        let key = MailboxKey::new("run-7", None);
        let mut bytes = seal(&key);
        bytes.truncate(bytes.len() - PROOF);
        bytes[0] = 9;
        let proof = blake3::keyed_hash(&key.0, &bytes);
        bytes.extend_from_slice(proof.as_bytes());
        assert_eq!(open(&bytes, &key, MailboxId::LEADER), Err(UnreadableMessage::Version(9)));
    }
}
