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

use super::seam::Recorded;
use crate::store::frame;

const VERSION: u8 = 1;

/// Times are written as the difference to the one before: the events of a batch were decided close together.
#[derive(Serialize)]
struct Written<'a>(u64, &'a Event);

#[derive(Deserialize)]
struct Read(u64, Event);

/// The bytes of a batch's events.
pub fn encode(events: &[Recorded]) -> Vec<u8> {
    let mut before = 0;
    let written: Vec<Written<'_>> = events
        .iter()
        .map(|recorded| {
            let at = recorded.at.as_millis();
            let since = at.wrapping_sub(before);
            before = at;
            Written(since, &recorded.event)
        })
        .collect();
    let body = postcard::to_stdvec(&written)
        .expect("events are plain data: nothing in them can refuse to be written");
    frame::close(VERSION, &body)
}

/// The events of a batch's bytes, or what is wrong with them.
pub fn decode(bytes: &[u8]) -> Result<Vec<Recorded>, String> {
    let body = frame::open("a batch", VERSION, bytes)?;
    let read: Vec<Read> = postcard::from_bytes(body)
        .map_err(|error| format!("a batch that cannot be read: {error}"))?;
    let mut at = 0_u64;
    let recorded = read.into_iter().map(|Read(since, event)| {
        at = at.wrapping_add(since);
        Recorded { at: Time::from_millis(at), event }
    });
    Ok(recorded.collect())
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{Fence, RunId, Seq, StepIx, WorkerId};

    use super::*;

    fn granted(at: u64) -> Recorded {
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
        Recorded { at: Time::from_millis(at), event }
    }

    #[test]
    fn a_batch_reads_as_it_was_written_and_takes_little_room() {
        let events = vec![
            granted(1_790_000_000_000),
            granted(1_790_000_000_001),
            granted(1_790_000_000_001),
        ];
        let bytes = encode(&events);
        assert_eq!(decode(&bytes), Ok(events));
        assert!(bytes.len() < 9 + 3 * 30, "{} bytes", bytes.len());
    }

    #[test]
    fn a_changed_byte_anywhere_is_found() {
        let bytes = encode(&[granted(5)]);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(decode(&damaged).is_err(), "byte {at}");
        }
        assert!(decode(&bytes[..bytes.len() - 1]).is_err(), "cut short");
    }
}
