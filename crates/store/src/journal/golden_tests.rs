//! A golden journal, a golden snapshot and one golden event of each kind, in the current format.
//!
//! These tests fail if the bytes of events or snapshots change. After an intended change, `WINDLASS_GOLDEN=1` rewrites the
//! files in `tests/golden`; CONTRIBUTING.md ("Changing an event or a format") lists what else to do. A file contains batches,
//! each as its length in four bytes (little-endian) and the output of [`encode_events`]. `current.txt` describes the state
//! after the journal, and `current.events.txt` the events. The snapshot is the output of [`encode_state`] for that state.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Once};

use windlass_core::engine::{Engine, EngineConfig};

use super::{Position, RecordedEvent, decode_events, decode_state, encode_events, encode_state};
use crate::conformance::{
    EVENT_KINDS, SampleHistory, event_kind, fold_events, sample_events, sample_history,
};

#[test]
fn golden_journal_folds_to_the_golden_state() {
    write_if_requested();
    let batches = read_batches("current.journal");
    let found: BTreeSet<_> = batches.iter().flatten().map(|it| event_kind(&it.event)).collect();
    assert_eq!(found.len(), EVENT_KINDS, "{found:?}");
    let engine = fold_events(batches.iter().map(Vec::as_slice)).expect("the history is legal");
    let state = fs::read_to_string(path("current.txt"));
    assert_eq!(engine.dump(), state.expect("the text is beside the journal"));
    assert_eq!(engine.check(), []);
}

#[test]
fn golden_snapshot_equals_the_fold_of_the_golden_journal() {
    write_if_requested();
    let snapshot = read_state("current.snapshot");
    let batches = read_batches("current.journal");
    let folded = fold_events(batches.iter().map(Vec::as_slice)).expect("the history is legal");
    assert_eq!(snapshot.dump_details(), folded.dump_details());
    assert_eq!(snapshot.check(), []);
    assert_eq!(snapshot.next_deadline(), folded.next_deadline());
}

/// The history cannot contain every value of an event; the sample events do.
#[test]
fn golden_events_have_their_golden_values() {
    write_if_requested();
    let found: String = read_batches("current.events").iter().flatten().map(line).collect();
    let expected = fs::read_to_string(path("current.events.txt"));
    assert_eq!(found, expected.expect("the text is beside the events"));
}

#[test]
fn encoding_golden_events_and_state_again_gives_the_golden_bytes() {
    write_if_requested();
    let bytes = fs::read(path("current.snapshot")).expect("it is committed");
    let again = encode_state(&read_state("current.snapshot"));
    assert!(bytes == again, "the encoding of the state has changed");
    for name in ["current.journal", "current.events"] {
        let bytes = fs::read(path(name)).expect("it is committed");
        let again: Vec<u8> = read_batches(name).iter().flat_map(|batch| framed(batch)).collect();
        assert!(bytes == again, "{name}: the encoding of events has changed");
    }
}

/// The size of a batch is limited by the estimates of its events, before it is encoded.
#[test]
fn no_event_takes_more_bytes_than_its_estimate() {
    write_if_requested();
    let batches = [read_batches("current.journal"), read_batches("current.events")];
    for recorded in batches.iter().flatten().flatten() {
        let written = encode_events(std::slice::from_ref(recorded)).len();
        let estimate = recorded.event.bytes();
        assert!(written <= estimate, "{written} bytes, estimated {estimate}: {}", line(recorded));
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read_batches(name: &str) -> Vec<Vec<Arc<RecordedEvent>>> {
    let bytes = fs::read(path(name)).expect("the golden journal is committed");
    let mut rest = bytes.as_slice();
    let (mut batches, mut head) = (Vec::new(), Position(0));
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let (batch, behind) = behind.split_at_checked(length).expect("the file is complete");
        let events = decode_events(batch, head.following()).expect("the batch is readable");
        head.0 += events.len() as u64;
        batches.push(events);
        rest = behind;
    }
    assert_eq!(rest.len(), 0, "bytes after the last batch");
    batches
}

fn read_state(name: &str) -> Engine {
    let bytes = fs::read(path(name)).expect("the golden snapshot is committed");
    decode_state(&bytes, EngineConfig::default()).expect("the state is readable")
}

fn line(recorded: &Arc<RecordedEvent>) -> String {
    format!("{} {:?}\n", recorded.at, recorded.event)
}

fn framed(batch: &[Arc<RecordedEvent>]) -> Vec<u8> {
    let bytes = encode_events(batch);
    let length = u32::try_from(bytes.len()).expect("a batch is far smaller");
    [&length.to_le_bytes()[..], &bytes].concat()
}

/// Rewrites the files once, in the first test that runs, if `WINDLASS_GOLDEN` is set.
#[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the program")]
fn write_if_requested() {
    static WRITTEN: Once = Once::new();
    if std::env::var_os("WINDLASS_GOLDEN").is_some() {
        WRITTEN.call_once(write);
    }
}

fn write() {
    let SampleHistory { batches, state } = sample_history();
    let kinds: BTreeSet<_> = batches.iter().flatten().map(|it| event_kind(&it.event)).collect();
    assert_eq!(kinds.len(), EVENT_KINDS, "a golden journal has every kind of event");
    let bytes: Vec<u8> = batches.iter().flat_map(|batch| framed(batch)).collect();
    let engine = fold_events(batches.iter().map(Vec::as_slice)).expect("the history is legal");
    let events: Vec<_> = RecordedEvent::sequence(Position(0), sample_events()).collect();
    let text: String = events.iter().map(line).collect();
    let put = |name: &str, bytes: &[u8]| {
        // Other test processes may read the file now, so it is replaced in one step.
        let draft = path(&format!("{name}.{}", std::process::id()));
        fs::write(&draft, bytes).expect("the file can be written");
        fs::rename(draft, path(name)).expect("the file can be put in place");
    };
    put("current.journal", &bytes);
    put("current.snapshot", &encode_state(&engine));
    put("current.txt", state.as_bytes());
    put("current.events", &framed(&events));
    put("current.events.txt", text.as_bytes());
}
