//! A journal, a snapshot and one event of each kind in the current format.
//!
//! Nothing was released, so the format may change: a change that was not meant shows here. `WINDLASS_GOLDEN=1` writes the
//! files anew after a change that was. A file holds batches, each as its length in four bytes (little-endian) and the bytes
//! of [`encode`]. The text beside `current.journal` is the state that follows, the text beside `current.events` is what the
//! events say. The snapshot is what [`encode_state`] made of the state that follows from the journal.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Once;

use windlass::core::engine::{Engine, EngineConfig};
use windlass_store::conformance::{
    EVENT_KINDS, SampleHistory, event_kind, fold_events, sample_events, sample_history,
};
use windlass_store::journal::{
    RecordedEvent, decode_events, decode_state, encode_events, encode_state,
};

#[test]
fn the_journal_gives_the_state_that_it_gave_before() {
    write_if_wanted();
    let batches = read("current.journal");
    let found: BTreeSet<_> = batches.iter().flatten().map(|it| event_kind(&it.event)).collect();
    assert_eq!(found.len(), EVENT_KINDS, "{found:?}");
    let engine = fold_events(batches.iter().map(Vec::as_slice)).expect("it is a real history");
    let state = fs::read_to_string(path("current.txt"));
    assert_eq!(engine.dump(), state.expect("the text is beside the journal"));
    assert_eq!(engine.check(), []);
}

/// A node that begins with the snapshot has the state of one that folds the journal, to the last detail.
#[test]
fn the_snapshot_is_the_state_of_its_journal() {
    write_if_wanted();
    let snapshot = read_state("current.snapshot");
    let batches = read("current.journal");
    let folded = fold_events(batches.iter().map(Vec::as_slice)).expect("it is a real history");
    assert_eq!(snapshot.dump_details(), folded.dump_details());
    assert_eq!(snapshot.check(), []);
    assert_eq!(snapshot.next_deadline(), folded.next_deadline());
}

/// The history cannot have everything that an event can say; the specimens do.
#[test]
fn the_events_say_what_they_said_before() {
    write_if_wanted();
    let said: String = read("current.events").iter().flatten().map(line).collect();
    let before = fs::read_to_string(path("current.events.txt"));
    assert_eq!(said, before.expect("the text is beside the events"));
}

#[test]
fn the_bytes_have_not_changed() {
    write_if_wanted();
    let bytes = fs::read(path("current.snapshot")).expect("it is committed");
    let again = encode_state(&read_state("current.snapshot"));
    assert!(bytes == again, "the same state is written as other bytes than before");
    for name in ["current.journal", "current.events"] {
        let bytes = fs::read(path(name)).expect("it is committed");
        let again: Vec<u8> = read(name).iter().flat_map(|batch| framed(batch)).collect();
        assert!(bytes == again, "{name}: the same events are written as other bytes than before");
    }
}

/// A batch is bounded by what its events say that they take, before they are written.
#[test]
fn no_event_is_written_in_more_bytes_than_it_says() {
    for batch in [read("current.journal"), read("current.events")].iter().flatten() {
        for recorded in batch {
            let (said, written) =
                (recorded.event.bytes(), encode_events(std::slice::from_ref(recorded)).len());
            assert!(written <= said, "{written} bytes, and it says {said}: {}", line(recorded));
        }
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(name: &str) -> Vec<Vec<RecordedEvent>> {
    let bytes = fs::read(path(name)).expect("the golden journal is committed");
    let mut rest = bytes.as_slice();
    let mut batches = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let (batch, behind) = behind.split_at_checked(length).expect("the file is whole");
        batches.push(decode_events(batch).expect("a batch can be read"));
        rest = behind;
    }
    assert_eq!(rest.len(), 0, "bytes behind the last batch");
    batches
}

fn read_state(name: &str) -> Engine {
    let bytes = fs::read(path(name)).expect("the golden snapshot is committed");
    decode_state(&bytes, EngineConfig::default()).expect("a state can be read")
}

fn line(recorded: &RecordedEvent) -> String {
    format!("{} {:?}\n", recorded.at, recorded.event)
}

fn framed(batch: &[RecordedEvent]) -> Vec<u8> {
    let bytes = encode_events(batch);
    let length = u32::try_from(bytes.len()).expect("a batch is far smaller");
    [&length.to_le_bytes()[..], &bytes].concat()
}

/// Writes the files once, whichever test comes first.
#[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the program")]
fn write_if_wanted() {
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
    let engine = fold_events(batches.iter().map(Vec::as_slice)).expect("it is a real history");
    let events = sample_events();
    let said: String = events.iter().map(line).collect();
    let put = |name: &str, bytes: &[u8]| {
        // A rename: every test is a process of its own and may read meanwhile.
        let draft = path(&format!("{name}.{}", std::process::id()));
        fs::write(&draft, bytes).expect("the file can be written");
        fs::rename(draft, path(name)).expect("the file can be put in place");
    };
    put("current.journal", &bytes);
    put("current.snapshot", &encode_state(&engine));
    put("current.txt", state.as_bytes());
    put("current.events", &framed(&events));
    put("current.events.txt", said.as_bytes());
}
