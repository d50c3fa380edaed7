//! Encodes and decodes a part of a run's events.
//!
//! ```text
//!  size (8: of the uncompressed bytes) │ LZ4 of: positions │ batch
//! ```
//!
//! This is the body of a [frame](crate::db::frame_format), so its checksum is verified before it is decompressed. The positions
//! are in postcard, each as the difference to the one before. The batch has the format of the journal, with a version of its
//! own.

use std::sync::Arc;

use crate::db::frame_format::{FrameError, FrameFormat};
use crate::journal;
use crate::journal::{Position, RecordedEvent};

/// The versions of a chunk.
const CHUNK: FrameFormat = FrameFormat { content: "a chunk of events", upcasts: &[] };

const SIZE: usize = 8;

/// Encodes events, of which there is at least one.
pub(super) fn encode_chunk(events: &[Arc<RecordedEvent>]) -> Vec<u8> {
    let mut before = 0;
    let positions = events.iter().map(|recorded| recorded.position.0);
    let steps: Vec<u64> = positions
        .map(|position| position.wrapping_sub(std::mem::replace(&mut before, position)))
        .collect();
    let mut plain = postcard::to_stdvec(&steps).expect("numbers always serialize");
    plain.extend_from_slice(&journal::encode_events(events));
    let mut body = (plain.len() as u64).to_le_bytes().to_vec();
    body.extend_from_slice(&lz4_flex::block::compress(&plain));
    CHUNK.encode(&body)
}

/// Decodes events and their positions.
pub(super) fn decode_chunk(bytes: &[u8]) -> Result<Vec<Arc<RecordedEvent>>, FrameError> {
    let plain = unpack(bytes)?;
    let (steps, events): (Vec<u64>, _) = postcard::take_from_bytes(&plain)
        .map_err(|error| CHUNK.damaged(&format!("has unreadable positions: {error}")))?;
    let mut at = 0_u64;
    let positions = steps.iter().map(|step| {
        at = at.wrapping_add(*step);
        Position(at)
    });
    let events = journal::decode_events(events, positions)?;
    if steps.len() != events.len() {
        let what = format!("has {} positions for {} events", steps.len(), events.len());
        return Err(CHUNK.damaged(&what));
    }
    Ok(events)
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

    fn sample_events(positions: impl IntoIterator<Item = u64>) -> Vec<Arc<RecordedEvent>> {
        let recorded = |(number, position): (u64, u64)| {
            Arc::new(RecordedEvent {
                position: Position(position),
                at: Time::from_millis(1_790_000_000_000 + number),
                event: Event::WorkerLost(event::WorkerLost { worker: WorkerId(number % 7) }),
            })
        };
        (0..).zip(positions).map(recorded).collect()
    }

    #[test]
    fn chunk_round_trips_compressed() {
        let events = sample_events((7..).step_by(3).take(1000));
        let bytes = encode_chunk(&events);
        assert!(bytes.len() < journal::encode_events(&events).len(), "{} bytes", bytes.len());
        assert_eq!(decode_chunk(&bytes), Ok(events));
    }

    #[test]
    fn positions_may_be_any_numbers() {
        let events = sample_events([0, u64::MAX, 1]);
        assert_eq!(decode_chunk(&encode_chunk(&events)), Ok(events));
    }

    #[test]
    fn a_changed_byte_anywhere_is_found() {
        let bytes = encode_chunk(&sample_events(1..1_000));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(decode_chunk(&damaged).is_err(), "byte {at}");
        }
        for length in 0..40 {
            assert!(decode_chunk(&bytes[..length]).is_err(), "truncated to {length}");
        }
    }
}
