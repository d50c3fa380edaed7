//! The bytes of a part of a run's history, which mean the same for ever.
//!
//! ```text
//!  version (1) │ check (8: BLAKE3 of what follows) │ size (8: of what was compressed) │ LZ4 of: positions │ events
//! ```
//!
//! The positions are in postcard, each as the difference to the one before; the events are what the journal's codec
//! makes of them, with its own version. The check is made before anything is decompressed.

use crate::journal;
use crate::journal::{Position, RecordedEvent};

const VERSION: u8 = 1;
const CHECK: usize = 8;
const SIZE: usize = 8;

/// The bytes of events, which are not empty.
pub(super) fn encode_chunk(positions: &[Position], events: &[RecordedEvent]) -> Vec<u8> {
    let mut before = 0;
    let steps: Vec<u64> = positions
        .iter()
        .map(|position| position.0.wrapping_sub(std::mem::replace(&mut before, position.0)))
        .collect();
    let mut plain = postcard::to_stdvec(&steps).expect("numbers can always be written");
    plain.extend_from_slice(&journal::encode_events(events));
    let packed = lz4_flex::block::compress(&plain);
    let mut bytes = Vec::with_capacity(1 + CHECK + SIZE + packed.len());
    bytes.push(VERSION);
    bytes.extend_from_slice(&[0; CHECK]);
    bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&packed);
    let check = checksum(&bytes[1 + CHECK..]);
    bytes[1..=CHECK].copy_from_slice(&check);
    bytes
}

/// The events of such bytes, or what is wrong with them.
pub(super) fn decode_chunk(bytes: &[u8]) -> Result<Vec<(Position, RecordedEvent)>, String> {
    let plain = unpack(bytes)?;
    let (steps, events): (Vec<u64>, _) = postcard::take_from_bytes(&plain)
        .map_err(|error| format!("positions that cannot be read: {error}"))?;
    let events = journal::decode_events(events)?;
    if steps.len() != events.len() {
        return Err(format!("{} positions for {} events", steps.len(), events.len()));
    }
    let mut at = 0_u64;
    let positions = steps.into_iter().map(|step| {
        at = at.wrapping_add(step);
        Position(at)
    });
    Ok(positions.zip(events).collect())
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (version, rest) = bytes.split_first().ok_or("a chunk without bytes")?;
    if *version != VERSION {
        return Err(format!("a chunk of version {version}, this windlass knows {VERSION}"));
    }
    let (found, rest) = rest.split_at_checked(CHECK).ok_or("a chunk cut short")?;
    if found != checksum(rest) {
        return Err("a chunk whose bytes do not match their checksum".to_owned());
    }
    let (size, packed) = rest.split_first_chunk::<SIZE>().ok_or("a chunk cut short")?;
    let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|error| error.to_string())?;
    lz4_flex::block::decompress(packed, size).map_err(|error| error.to_string())
}

fn checksum(body: &[u8]) -> [u8; CHECK] {
    let hash = blake3::hash(body);
    hash.as_bytes()[..CHECK].try_into().expect("a BLAKE3 hash is longer")
}

#[cfg(test)]
mod tests {
    use windlass_core::engine::Event;
    use windlass_core::id::WorkerId;
    use windlass_core::time::Time;

    use super::*;

    fn sample_events() -> (Vec<Position>, Vec<RecordedEvent>) {
        let recorded = |number: u64| RecordedEvent {
            at: Time::from_millis(1_790_000_000_000 + number),
            event: Event::WorkerLost { worker: WorkerId(number % 7) },
        };
        let positions = (0..1000).map(|number| Position(7 + number * 3));
        (positions.collect(), (0..1000).map(recorded).collect())
    }

    #[test]
    fn chunk_round_trips_compressed() {
        let (positions, events) = sample_events();
        let bytes = encode_chunk(&positions, &events);
        assert!(bytes.len() < journal::encode_events(&events).len(), "{} bytes", bytes.len());
        assert_eq!(decode_chunk(&bytes), Ok(positions.into_iter().zip(events).collect()));
    }

    #[test]
    fn positions_may_be_any_numbers() {
        let (_, events) = sample_events();
        let positions = [0, u64::MAX, 1].map(Position);
        let read = decode_chunk(&encode_chunk(&positions, &events[..3])).unwrap();
        assert_eq!(read.iter().map(|(position, _)| *position).collect::<Vec<_>>(), positions);
    }

    #[test]
    fn a_changed_byte_anywhere_is_found() {
        let (positions, events) = sample_events();
        let bytes = encode_chunk(&positions, &events);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(decode_chunk(&damaged).is_err(), "byte {at}");
        }
        for length in 0..40 {
            assert!(decode_chunk(&bytes[..length]).is_err(), "cut short to {length}");
        }
    }
}
