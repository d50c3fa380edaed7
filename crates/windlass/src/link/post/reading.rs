//! Messages from the letters that they came in.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;

use super::envelope::{Envelope, Key, MESSAGE_MAX, Part, Unread};
use super::mailboxes::Mailbox;

/// Messages of which some parts have come. A lost part leaves the others here until newer ones need their room.
const GATHERING_MAX: usize = 64;

/// Bytes of them.
const GATHERING_BYTES_MAX: usize = 4 * MESSAGE_MAX;

/// Reads what comes to one mailbox.
#[derive(Debug)]
pub struct Reader {
    key: Key,
    own: Mailbox,
    /// The oldest first.
    gathering: VecDeque<Gathered>,
}

/// A message of which some parts have come.
#[derive(Debug)]
struct Gathered {
    envelope: Envelope,
    parts: Vec<Option<Vec<u8>>>,
}

impl Reader {
    /// Reads what is proved by a key and is for this mailbox.
    pub const fn new(key: Key, own: Mailbox) -> Self {
        Self { key, own, gathering: VecDeque::new() }
    }

    /// The message that is whole with this letter; nothing if parts of it are still to come.
    pub fn read<T: DeserializeOwned>(
        &mut self,
        letter: &[u8],
    ) -> Result<Option<(Envelope, T)>, Unread> {
        let (envelope, part) = Envelope::open(letter, &self.key, self.own)?;
        if part.of <= 1 {
            return Ok(Some((envelope, decode(part.bytes)?)));
        }
        match self.gather(envelope, &part)? {
            Some(message) => Ok(Some((envelope, decode(&message)?))),
            None => Ok(None),
        }
    }

    fn gather(&mut self, envelope: Envelope, part: &Part<'_>) -> Result<Option<Vec<u8>>, Unread> {
        let nonsense = || Unread::Nonsense(format!("part {} of {}", part.at, part.of));
        if part.at >= part.of {
            return Err(nonsense());
        }
        let same = |known: &Gathered| known.envelope == envelope;
        let known = self.gathering.iter().position(same).unwrap_or_else(|| {
            let parts = vec![None; usize::from(part.of)];
            self.gathering.push_back(Gathered { envelope, parts });
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

    /// Lets the oldest go, but for the newest.
    fn make_room(&mut self) {
        let mut bytes: usize = self.gathering.iter().map(Gathered::bytes).sum();
        while self.gathering.len() > GATHERING_MAX || bytes > GATHERING_BYTES_MAX {
            bytes -= self.gathering.pop_front().map_or(0, |oldest| oldest.bytes());
        }
    }
}

impl Gathered {
    fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Vec::len).sum()
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unread> {
    postcard::from_bytes(bytes).map_err(|error| Unread::Nonsense(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::post::{Epoch, LETTER_MAX, MailError};

    const OWN: Mailbox = Mailbox(7);

    fn letters(number: u64, bytes: usize) -> Vec<Vec<u8>> {
        let envelope = Envelope { epoch: Epoch(3), from: Mailbox::LEADER, to: OWN, number };
        let message = vec![b'x'; bytes];
        let sealed = envelope.seal(&key(), &message).unwrap();
        sealed.into_iter().map(|letter| letter.bytes).collect()
    }

    fn key() -> Key {
        Key::new("run-7", None)
    }

    fn reader() -> Reader {
        Reader::new(key(), OWN)
    }

    /// How large the messages are that came whole, by their numbers.
    fn read<'a>(
        reader: &mut Reader,
        letters: impl IntoIterator<Item = &'a Vec<u8>>,
    ) -> Vec<(u64, usize)> {
        let read = letters.into_iter().filter_map(|it| reader.read::<Vec<u8>>(it).unwrap());
        read.map(|(envelope, message)| (envelope.number, message.len())).collect()
    }

    #[test]
    fn a_large_message_comes_in_parts_in_any_order_and_twice() {
        let (large, other) = (letters(1, 5 << 20), letters(2, 2 << 20));
        assert_eq!((large.len(), other.len()), (6, 3));
        assert!(large.iter().all(|letter| letter.len() <= LETTER_MAX));
        let mut reader = reader();
        let mixed = large.iter().rev().zip(other.iter().cycle()).flat_map(|(a, b)| [a, b]);
        let got = read(&mut reader, mixed);
        assert_eq!(got, [(2, 2 << 20), (1, 5 << 20), (2, 2 << 20)]);
        assert!(reader.gathering.is_empty());
        assert_eq!(read(&mut reader, &letters(3, 0)), [(3, 0)]);
    }

    #[test]
    fn what_is_never_whole_makes_room_and_what_is_too_large_is_not_sent() {
        let mut reader = reader();
        let envelope = |number| Envelope { epoch: Epoch(3), from: OWN, to: OWN, number };
        for number in 0..100 {
            let part = Part { at: 0, of: 2, bytes: &[0; 10] };
            assert_eq!(reader.gather(envelope(number), &part), Ok(None));
        }
        assert_eq!(reader.gathering.len(), GATHERING_MAX);
        for number in 100..110 {
            let parts = vec![Some(vec![0; MESSAGE_MAX]), None];
            reader.gathering.push_back(Gathered { envelope: envelope(number), parts });
        }
        reader.make_room();
        let left: Vec<u64> = reader.gathering.iter().map(|it| it.envelope.number).collect();
        assert_eq!(left, [106, 107, 108, 109], "as many as there is room for, the newest");
        let envelope = Envelope { epoch: Epoch(3), from: OWN, to: Mailbox::LEADER, number: 1 };
        let sealed = envelope.seal(&key(), &vec![0_u8; MESSAGE_MAX]);
        assert!(matches!(sealed, Err(MailError::TooLarge { .. })), "{}", sealed.is_ok());
    }
}
