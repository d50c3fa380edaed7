//! The bytes of a batch.
//!
//! ```text
//!  version (1) │ check (8: BLAKE3 of what follows) │ events in postcard: count, then time and event each
//! ```
//!
//! Postcard writes an enum as the number of its variant and a struct as its fields in order, so a changed enum or struct is
//! another format. Nothing was released, so no other format is read; the golden journal in the tests shows a change that was
//! not meant. An unknown version or variant is an error, and a node that meets one does not lead.

use serde::{Deserialize, Serialize};
use windlass_core::engine::Event;
use windlass_core::time::Time;

use super::interface::RecordedEvent;
use crate::db::checksum_frame;

const VERSION: u8 = 1;

/// Times are written as the difference to the one before: the events of a batch were decided close together.
#[derive(Serialize)]
struct TimedEventRef<'a>(u64, &'a Event);

#[derive(Deserialize)]
struct TimedEvent(u64, Event);

/// The bytes of a batch's events.
pub fn encode_events(events: &[RecordedEvent]) -> Vec<u8> {
    let mut before = 0;
    let written: Vec<TimedEventRef<'_>> = events
        .iter()
        .map(|recorded| {
            let at = recorded.at.as_millis();
            let since = at.wrapping_sub(before);
            before = at;
            TimedEventRef(since, &recorded.event)
        })
        .collect();
    let body = postcard::to_stdvec(&written)
        .expect("events are plain data: nothing in them can refuse to be written");
    checksum_frame::encode_frame(VERSION, &body)
}

/// The events of a batch's bytes, or what is wrong with them.
pub fn decode_events(bytes: &[u8]) -> Result<Vec<RecordedEvent>, String> {
    let body = checksum_frame::decode_frame("a batch", VERSION, bytes)?;
    let read: Vec<TimedEvent> = postcard::from_bytes(body)
        .map_err(|error| format!("a batch that cannot be read: {error}"))?;
    let mut at = 0_u64;
    let recorded = read.into_iter().map(|TimedEvent(since, event)| {
        at = at.wrapping_add(since);
        RecordedEvent { at: Time::from_millis(at), event }
    });
    Ok(recorded.collect())
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{Fence, RunId, Seq, StepIx, WorkerId};

    use super::*;

    fn granted(at: u64) -> RecordedEvent {
        let event = Event::Granted {
            run: RunId::new(1_790_000_000_000, 5),
            step: StepIx(7),
            attempt: 1,
            delivery: 1,
            worker: WorkerId(3),
            fence: Fence::new(0, 12),
            seq: Seq(4),
            expires: None,
        };
        RecordedEvent { at: Time::from_millis(at), event }
    }

    #[test]
    fn batch_round_trips_in_little_space() {
        let events = vec![
            granted(1_790_000_000_000),
            granted(1_790_000_000_001),
            granted(1_790_000_000_001),
        ];
        let bytes = encode_events(&events);
        assert_eq!(decode_events(&bytes), Ok(events));
        assert!(bytes.len() < 9 + 3 * 30, "{} bytes", bytes.len());
    }

    #[test]
    fn a_changed_byte_anywhere_is_found() {
        let bytes = encode_events(&[granted(5)]);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(decode_events(&damaged).is_err(), "byte {at}");
        }
        assert!(decode_events(&bytes[..bytes.len() - 1]).is_err(), "cut short");
    }
}
