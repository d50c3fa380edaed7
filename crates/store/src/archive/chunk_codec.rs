//! Encodes and decodes a part of a run's events.
//!
//! ```text
//!  size (8: of the uncompressed bytes) │ LZ4 of: positions │ batch
//! ```
//!
//! This is the body of a [frame](crate::db::frame_format), so its checksum is verified before it is decompressed. The positions
//! are in postcard, each as the difference to the one before. The batch has the format of the journal, with a version of its
//! own.

use crate::db::frame_format::{FrameError, FrameFormat};
use crate::journal;
use crate::journal::{Position, RecordedEvent};

/// The versions of a chunk.
const CHUNK: FrameFormat = FrameFormat { content: "a chunk of events", upcasts: &[] };

const SIZE: usize = 8;

/// Encodes events, of which there is at least one.
pub(super) fn encode_chunk(positions: &[Position], events: &[RecordedEvent]) -> Vec<u8> {
    let mut before = 0;
    let steps: Vec<u64> = positions
        .iter()
        .map(|position| position.0.wrapping_sub(std::mem::replace(&mut before, position.0)))
        .collect();
    let mut plain = postcard::to_stdvec(&steps).expect("numbers always serialize");
    plain.extend_from_slice(&journal::encode_events(events));
    let mut body = (plain.len() as u64).to_le_bytes().to_vec();
    body.extend_from_slice(&lz4_flex::block::compress(&plain));
    CHUNK.encode(&body)
}

/// Decodes events and their positions.
pub(super) fn decode_chunk(bytes: &[u8]) -> Result<Vec<(Position, RecordedEvent)>, FrameError> {
    let plain = unpack(bytes)?;
    let (steps, events): (Vec<u64>, _) = postcard::take_from_bytes(&plain)
        .map_err(|error| CHUNK.damaged(&format!("has unreadable positions: {error}")))?;
    let events = journal::decode_events(events)?;
    if steps.len() != events.len() {
        let what = format!("has {} positions for {} events", steps.len(), events.len());
        return Err(CHUNK.damaged(&what));
    }
    let mut at = 0_u64;
    let positions = steps.into_iter().map(|step| {
        at = at.wrapping_add(step);
        Position(at)
    });
    Ok(positions.zip(events).collect())
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, FrameError> {
    let body = CHUNK.decode(bytes)?;
    let cut = || CHUNK.damaged("is cut short");
    let (size, packed) = body.split_first_chunk::<SIZE>().ok_or_else(cut)?;
    let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|_| cut())?;
    lz4_flex::block::decompress(packed, size)
        .map_err(|error| CHUNK.damaged(&format!("cannot be decompressed: {error}")))
}

#[cfg(test)]
mod tests {
    use windlass_core::engine::{Event, event};
    use windlass_core::id::WorkerId;
    use windlass_core::time::Time;

    use super::*;

    fn sample_events() -> (Vec<Position>, Vec<RecordedEvent>) {
        let recorded = |number: u64| RecordedEvent {
            at: Time::from_millis(1_790_000_000_000 + number),
            event: Event::WorkerLost(event::WorkerLost { worker: WorkerId(number % 7) }),
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
