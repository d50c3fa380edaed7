//! Encodes and decodes the events of a batch.
//!
//! The body of the [frame](crate::db::frame_format) has the events in postcard: their number, then time and event each.
//! Postcard writes an enum as the number of its variant and a struct as its fields in order, so a changed enum or struct is
//! another version. A change needs an entry in [`BATCH`]: a function that decodes the older version with frozen copies of the
//! changed types, and encodes the next version. Until the first release there is one version, and the
//! [name of the store format](crate::db::STORE_FORMAT) changes instead.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::engine::Event;
use windlass_core::time::Time;

use super::{Position, RecordedEvent};
use crate::db::frame_format::{FrameError, FrameFormat};

/// The versions of a batch.
const BATCH: FrameFormat = FrameFormat { content: "a batch of events", upcasts: &[] };

/// The time and the event. Each time is the difference to the time before, which is small within a batch.
#[derive(Serialize)]
struct TimedEventRef<'a>(u64, &'a Event);

/// The same fields, decoded.
#[derive(Deserialize)]
struct TimedEvent(u64, Event);

/// Encodes the events of a batch. Their positions are not part of the bytes.
pub fn encode_events(events: &[Arc<RecordedEvent>]) -> Vec<u8> {
    BATCH.encode(&encode_body(events))
}

fn encode_body(events: &[Arc<RecordedEvent>]) -> Vec<u8> {
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

/// Decodes the events of a batch. The events get these positions, which may be more than there are events.
pub fn decode_events(
    bytes: &[u8],
    positions: impl IntoIterator<Item = Position>,
) -> Result<Vec<Arc<RecordedEvent>>, FrameError> {
    decode_events_of(&BATCH, bytes, positions)
}

fn decode_events_of(
    format: &FrameFormat,
    bytes: &[u8],
    positions: impl IntoIterator<Item = Position>,
) -> Result<Vec<Arc<RecordedEvent>>, FrameError> {
    let body = format.decode(bytes)?;
    let read: Vec<TimedEvent> = postcard::from_bytes(&body)
        .map_err(|error| format.damaged(&format!("cannot be read: {error}")))?;
    let count = read.len();
    let mut at = 0_u64;
    let recorded = read.into_iter().zip(positions).map(|(TimedEvent(since, event), position)| {
        at = at.wrapping_add(since);
        Arc::new(RecordedEvent { position, at: Time::from_millis(at), event })
    });
    let recorded: Vec<Arc<RecordedEvent>> = recorded.collect();
    if recorded.len() < count {
        let what = format!("has {count} events for {} positions", recorded.len());
        return Err(format.damaged(&what));
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use windlass_core::engine::event;
    use windlass_core::id::{Fence, RunId, Seq, StepIx, WorkerId};

    use super::*;

    fn granted(at: u64) -> (Time, Event) {
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
        (Time::from_millis(at), event)
    }

    fn recorded<const N: usize>(times: [u64; N]) -> Vec<Arc<RecordedEvent>> {
        RecordedEvent::sequence(Position(6), times.map(granted)).collect()
    }

    fn decode(bytes: &[u8]) -> Result<Vec<Arc<RecordedEvent>>, FrameError> {
        decode_events(bytes, Position(6).following())
    }

    #[test]
    fn batch_round_trips_in_little_space() {
        let events = recorded([1_790_000_000_000, 1_790_000_000_001, 1_790_000_000_001]);
        let bytes = encode_events(&events);
        assert_eq!(decode(&bytes), Ok(events));
        assert!(decode_events(&bytes, [Position(1)]).is_err(), "positions are missing");
        assert!(bytes.len() < 9 + 3 * 30, "{} bytes", bytes.len());
    }

    #[test]
    fn changed_byte_is_found_anywhere() {
        let bytes = encode_events(&recorded([5]));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(matches!(decode(&damaged), Err(FrameError::Damaged(_))), "byte {at}");
        }
        assert!(decode(&bytes[..bytes.len() - 1]).is_err(), "cut short");
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
            Ok((Time::from_millis(at), Event::WorkerLost(event::WorkerLost { worker })))
        });
        let upcast = upcast.collect::<Result<Vec<_>, String>>()?;
        Ok(encode_body(&RecordedEvent::sequence(Position(0), upcast).collect::<Vec<_>>()))
    }

    const LATER: FrameFormat =
        FrameFormat { content: "a batch of events", upcasts: &[from_earlier] };

    fn earlier_batch(name: &str) -> Vec<u8> {
        let earlier = vec![(7_u64, EarlierEvent::WorkerVanished { name: name.to_owned() })];
        BATCH.encode(&postcard::to_stdvec(&earlier).unwrap())
    }

    #[test]
    fn batch_of_an_earlier_version_is_upcast_when_it_is_read() {
        let event = Event::WorkerLost(event::WorkerLost { worker: WorkerId(3) });
        let events = [(Time::from_millis(7), event)];
        let expected: Vec<_> = RecordedEvent::sequence(Position(6), events).collect();
        let decode = |bytes: &[u8]| decode_events_of(&LATER, bytes, Position(6).following());
        assert_eq!(decode(&earlier_batch("3")), Ok(expected));
        let error = decode(&earlier_batch("x")).unwrap_err();
        assert_eq!(error.to_string(), "a batch of events is invalid: no worker x");
    }

    #[test]
    fn batch_of_a_later_version_is_refused_by_name() {
        let later = LATER.encode(&encode_body(&recorded([5])));
        let expected = FrameError::Newer { content: "a batch of events", found: 2, known: 1 };
        assert_eq!(decode(&later), Err(expected));
    }
}
