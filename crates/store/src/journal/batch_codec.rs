//! Encodes and decodes the events of a batch.
//!
//! The body of the [frame](crate::db::frame_format) has the events in postcard: their number, then time and event each.
//! Postcard writes an enum as the number of its variant and a struct as its fields in order, so a changed enum or struct is
//! another version. A change needs an entry in [`BATCH`]: a function that decodes the older version with frozen copies of the
//! changed types, and encodes the next version. Until the first release there is one version, and the
//! [name of the store format](crate::db::STORE_FORMAT) changes instead.

use serde::{Deserialize, Serialize};
use windlass_core::engine::Event;
use windlass_core::time::Time;

use super::interface::RecordedEvent;
use crate::db::frame_format::{FrameError, FrameFormat};

/// The versions of a batch.
const BATCH: FrameFormat = FrameFormat { content: "a batch of events", upcasts: &[] };

/// Time and event. Times are written as the difference to the one before, which is small within a batch.
#[derive(Serialize)]
struct TimedEventRef<'a>(u64, &'a Event);

/// The same, read.
#[derive(Deserialize)]
struct TimedEvent(u64, Event);

/// Encodes the events of a batch.
pub fn encode_events(events: &[RecordedEvent]) -> Vec<u8> {
    BATCH.encode(&encode_body(events))
}

fn encode_body(events: &[RecordedEvent]) -> Vec<u8> {
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
    postcard::to_stdvec(&written).expect("events are plain data, which always serializes")
}

/// Decodes the events of a batch.
pub fn decode_events(bytes: &[u8]) -> Result<Vec<RecordedEvent>, FrameError> {
    decode_events_of(&BATCH, bytes)
}

fn decode_events_of(format: &FrameFormat, bytes: &[u8]) -> Result<Vec<RecordedEvent>, FrameError> {
    let body = format.decode(bytes)?;
    let read: Vec<TimedEvent> = postcard::from_bytes(&body)
        .map_err(|error| format.damaged(&format!("cannot be read: {error}")))?;
    let mut at = 0_u64;
    let recorded = read.into_iter().map(|TimedEvent(since, event)| {
        at = at.wrapping_add(since);
        RecordedEvent { at: Time::from_millis(at), event }
    });
    Ok(recorded.collect())
}

#[cfg(test)]
mod tests {
    use windlass_core::engine::event;
    use windlass_core::id::{Fence, RunId, Seq, StepIx, WorkerId};

    use super::*;

    fn granted(at: u64) -> RecordedEvent {
        let event = Event::Granted(event::Granted {
            run: RunId::new(1_790_000_000_000, 5),
            step: StepIx(7),
            attempt: 1,
            delivery: 1,
            worker: WorkerId(3),
            fence: Fence::new(0, 12),
            seq: Seq(4),
            expires: None,
        });
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
    fn changed_byte_is_found_anywhere() {
        let bytes = encode_events(&[granted(5)]);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(matches!(decode_events(&damaged), Err(FrameError::Damaged(_))), "byte {at}");
        }
        assert!(decode_events(&bytes[..bytes.len() - 1]).is_err(), "cut short");
    }

    /// An event of a made-up earlier version, in which workers had names instead of numbers.
    #[derive(Serialize, Deserialize)]
    enum EarlierEvent {
        WorkerVanished { name: String },
    }

    /// The step from the made-up version to this one.
    fn from_earlier(body: &[u8]) -> Result<Vec<u8>, String> {
        let events: Vec<(u64, EarlierEvent)> =
            postcard::from_bytes(body).map_err(|error| error.to_string())?;
        let upcast = events.into_iter().map(|(at, EarlierEvent::WorkerVanished { name })| {
            let worker = WorkerId(name.parse().map_err(|_| format!("no worker {name}"))?);
            Ok(RecordedEvent { at: Time::from_millis(at), event: Event::WorkerLost { worker } })
        });
        Ok(encode_body(&upcast.collect::<Result<Vec<_>, String>>()?))
    }

    const LATER: FrameFormat =
        FrameFormat { content: "a batch of events", upcasts: &[from_earlier] };

    fn earlier_batch(name: &str) -> Vec<u8> {
        let earlier = vec![(7_u64, EarlierEvent::WorkerVanished { name: name.to_owned() })];
        BATCH.encode(&postcard::to_stdvec(&earlier).unwrap())
    }

    #[test]
    fn batch_of_an_earlier_version_is_upcast_when_it_is_read() {
        let event = Event::WorkerLost { worker: WorkerId(3) };
        let expected = vec![RecordedEvent { at: Time::from_millis(7), event }];
        assert_eq!(decode_events_of(&LATER, &earlier_batch("3")), Ok(expected));
        let error = decode_events_of(&LATER, &earlier_batch("x")).unwrap_err();
        assert_eq!(error.to_string(), "a batch of events is invalid: no worker x");
    }

    #[test]
    fn batch_of_a_later_version_is_refused_by_name() {
        let later = LATER.encode(&encode_body(&[granted(5)]));
        let expected = FrameError::Newer { content: "a batch of events", found: 2, known: 1 };
        assert_eq!(decode_events(&later), Err(expected));
    }
}
