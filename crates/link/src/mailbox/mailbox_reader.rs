//! Reassembles payloads from messages.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;

use super::envelope::{MailboxKey, MessageEnvelope, PAYLOAD_MAX, PayloadPart, UnreadableMessage};
use super::mailboxes::MailboxId;

/// Maximum number of incomplete payloads. After a part is lost, the other parts stay until newer payloads need the space.
const PARTIAL_PAYLOADS_MAX: usize = 64;

/// Maximum size of all incomplete payloads.
const PARTIAL_BYTES_MAX: usize = 4 * PAYLOAD_MAX;

/// Reads the messages of one mailbox.
#[derive(Debug)]
pub struct MailboxReader {
    key: MailboxKey,
    own: MailboxId,
    /// The oldest payload is first.
    gathering: VecDeque<PartialPayload>,
}

/// A payload of which some parts have arrived.
#[derive(Debug)]
struct PartialPayload {
    envelope: MessageEnvelope,
    parts: Vec<Option<Vec<u8>>>,
}

impl MailboxReader {
    /// Returns a reader for messages to mailbox `own` that are proved by this key.
    pub const fn new(key: MailboxKey, own: MailboxId) -> Self {
        Self { key, own, gathering: VecDeque::new() }
    }

    /// Reads a message. Returns the payload that it completes, or `None` while parts are missing.
    pub fn read<T: DeserializeOwned>(
        &mut self,
        sealed_message: &[u8],
    ) -> Result<Option<(MessageEnvelope, T)>, UnreadableMessage> {
        let (envelope, part) = MessageEnvelope::open(sealed_message, &self.key, self.own)?;
        if part.of <= 1 {
            return Ok(Some((envelope, decode(part.bytes)?)));
        }
        match self.add_part(envelope, &part)? {
            Some(message) => Ok(Some((envelope, decode(&message)?))),
            None => Ok(None),
        }
    }

    fn add_part(
        &mut self,
        envelope: MessageEnvelope,
        part: &PayloadPart<'_>,
    ) -> Result<Option<Vec<u8>>, UnreadableMessage> {
        let nonsense = || UnreadableMessage::Malformed(format!("part {} of {}", part.at, part.of));
        if part.at >= part.of {
            return Err(nonsense());
        }
        let same = |known: &PartialPayload| known.envelope == envelope;
        let known = self.gathering.iter().position(same).unwrap_or_else(|| {
            let parts = vec![None; usize::from(part.of)];
            self.gathering.push_back(PartialPayload { envelope, parts });
            self.gathering.len() - 1
        });
        let parts = &mut self.gathering[known].parts;
        let fits = parts.len() == usize::from(part.of);
        let place = parts.get_mut(usize::from(part.at)).filter(|_| fits).ok_or_else(nonsense)?;
        *place = Some(part.bytes.to_vec());
        if parts.iter().any(Option::is_none) {
            self.make_room();
            return Ok(None);
        }
        let whole = self.gathering.remove(known).map(|whole| whole.parts).unwrap_or_default();
        Ok(Some(whole.into_iter().flatten().flatten().collect()))
    }

    /// Evicts the oldest incomplete payloads, never the newest.
    fn make_room(&mut self) {
        let mut bytes: usize = self.gathering.iter().map(PartialPayload::bytes).sum();
        while self.gathering.len() > PARTIAL_PAYLOADS_MAX || bytes > PARTIAL_BYTES_MAX {
            bytes -= self.gathering.pop_front().map_or(0, |oldest| oldest.bytes());
        }
    }
}

impl PartialPayload {
    fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Vec::len).sum()
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, UnreadableMessage> {
    postcard::from_bytes(bytes).map_err(|error| UnreadableMessage::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::{BindingEpoch, MAILBOX_MESSAGE_MAX, MailboxError};

    const OWN: MailboxId = MailboxId(7);

    fn messages(number: u64, bytes: usize) -> Vec<Vec<u8>> {
        let envelope =
            MessageEnvelope { epoch: BindingEpoch(3), from: MailboxId::LEADER, to: OWN, number };
        let message = vec![b'x'; bytes];
        let sealed = envelope.seal(&key(), &message).unwrap();
        sealed.into_iter().map(|sealed_message| sealed_message.bytes).collect()
    }

    fn key() -> MailboxKey {
        MailboxKey::new("run-7", None)
    }

    fn reader() -> MailboxReader {
        MailboxReader::new(key(), OWN)
    }

    /// Returns the numbers and sizes of the completed payloads.
    fn read<'a>(
        reader: &mut MailboxReader,
        messages: impl IntoIterator<Item = &'a Vec<u8>>,
    ) -> Vec<(u64, usize)> {
        let read = messages.into_iter().filter_map(|it| reader.read::<Vec<u8>>(it).unwrap());
        read.map(|(envelope, message)| (envelope.number, message.len())).collect()
    }

    #[test]
    fn large_payload_is_reassembled_from_parts_in_any_order_and_twice() {
        let (large, other) = (messages(1, 5 << 20), messages(2, 2 << 20));
        assert_eq!((large.len(), other.len()), (6, 3));
        assert!(large.iter().all(|sealed_message| sealed_message.len() <= MAILBOX_MESSAGE_MAX));
        let mut reader = reader();
        let mixed = large.iter().rev().zip(other.iter().cycle()).flat_map(|(a, b)| [a, b]);
        let got = read(&mut reader, mixed);
        assert_eq!(got, [(2, 2 << 20), (1, 5 << 20), (2, 2 << 20)]);
        assert!(reader.gathering.is_empty());
        assert_eq!(read(&mut reader, &messages(3, 0)), [(3, 0)]);
    }

    #[test]
    fn incomplete_messages_are_evicted_and_oversized_ones_not_sent() {
        let mut reader = reader();
        let envelope =
            |number| MessageEnvelope { epoch: BindingEpoch(3), from: OWN, to: OWN, number };
        for number in 0..100 {
            let part = PayloadPart { at: 0, of: 2, bytes: &[0; 10] };
            assert_eq!(reader.add_part(envelope(number), &part), Ok(None));
        }
        assert_eq!(reader.gathering.len(), PARTIAL_PAYLOADS_MAX);
        for number in 100..110 {
            let parts = vec![Some(vec![0; PAYLOAD_MAX]), None];
            reader.gathering.push_back(PartialPayload { envelope: envelope(number), parts });
        }
        reader.make_room();
        let left: Vec<u64> = reader.gathering.iter().map(|it| it.envelope.number).collect();
        assert_eq!(left, [106, 107, 108, 109], "the newest that fit");
        let envelope =
            MessageEnvelope { epoch: BindingEpoch(3), from: OWN, to: MailboxId::LEADER, number: 1 };
        let sealed = envelope.seal(&key(), &vec![0_u8; PAYLOAD_MAX]);
        assert!(matches!(sealed, Err(MailboxError::TooLarge { .. })), "{}", sealed.is_ok());
    }
}
