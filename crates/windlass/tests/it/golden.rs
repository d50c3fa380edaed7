//! A journal and a snapshot of each release read and mean the same for ever.
//!
//! A file holds batches, each as its length in four bytes (the lowest first) and what [`encode`] made of it. The text
//! beside a `.journal` is the state that follows, the text beside `.events` is what they say. A `.snapshot` is what
//! [`encode_state`] made of the state that follows from the journal beside it. None is ever changed. A new release adds
//! its own: with `WINDLASS_GOLDEN` set, files that are not there are written.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use windlass::conformance::{History, KINDS, fold, history, kind, specimens};
use windlass::core::engine::{Config, Engine};
use windlass::journal::{Recorded, decode, decode_state, encode, encode_state};

/// The releases whose files are kept, and how many kinds of events there were.
const RELEASES: [(&str, usize); 4] = [("0.1", 22), ("0.2", 27), ("0.3", 30), (NEWEST, 30)];

/// The one whose form of a snapshot is written today. Earlier forms are read.
const NEWEST: &str = "0.4";

#[test]
fn the_journal_of_a_release_gives_the_state_that_it_gave_then() {
    for (release, kinds) in RELEASES {
        write_if_wanted(release);
        let batches = read(&format!("{release}.journal"));
        let found: BTreeSet<_> = batches.iter().flatten().map(|it| kind(&it.event)).collect();
        assert_eq!(found.len(), kinds, "{found:?}");
        let engine = fold(batches.iter().map(Vec::as_slice)).expect("it was a real history");
        let state = fs::read_to_string(path(&format!("{release}.txt")));
        assert_eq!(engine.snapshot(), state.expect("the text is beside the journal"));
        assert_eq!(engine.check(), []);
    }
}

/// Who begins with the snapshot has the state of who folds the journal, to the last detail, and goes on alike.
#[test]
fn the_snapshot_of_a_release_is_the_state_of_its_journal() {
    for (release, _) in RELEASES {
        write_if_wanted(release);
        let snapshot = read_state(&format!("{release}.snapshot"));
        let batches = read(&format!("{release}.journal"));
        let folded = fold(batches.iter().map(Vec::as_slice)).expect("it was a real history");
        assert_eq!(snapshot.details(), folded.details());
        assert_eq!(snapshot.check(), []);
        assert_eq!(snapshot.next_deadline(), folded.next_deadline());
    }
}

/// The history cannot have everything that an event can say; the specimens do.
#[test]
fn the_events_of_a_release_say_what_they_said_then() {
    for (release, _) in RELEASES {
        write_if_wanted(release);
        let said: String = read(&format!("{release}.events")).iter().flatten().map(line).collect();
        let then = fs::read_to_string(path(&format!("{release}.events.txt")));
        let then = then.expect("the text is beside the events");
        for (now, then) in said.lines().zip(then.lines()) {
            assert_eq!(now, then);
        }
        assert_eq!(said.lines().count(), then.lines().count());
    }
}

/// What is written today is what was written then. When the codec gets a version this goes to the journal of that
/// release: older bytes must be read for ever, but not written.
#[test]
fn the_bytes_have_not_changed_since() {
    let snapshot = format!("{NEWEST}.snapshot");
    let bytes = fs::read(path(&snapshot)).expect("it is committed");
    let again = encode_state(&read_state(&snapshot));
    assert!(bytes == again, "the same state is written as other bytes than before");
    let of = |(release, _): (&str, _)| ["journal", "events"].map(|it| format!("{release}.{it}"));
    for name in RELEASES.into_iter().flat_map(of) {
        let bytes = fs::read(path(&name)).expect("it is committed");
        let again: Vec<u8> = read(&name).iter().flat_map(|batch| framed(batch)).collect();
        assert!(bytes == again, "{name}: the same events are written as other bytes than before");
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(name: &str) -> Vec<Vec<Recorded>> {
    let bytes = fs::read(path(name)).expect("the golden journal is committed");
    let mut rest = bytes.as_slice();
    let mut batches = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let (batch, behind) = behind.split_at_checked(length).expect("the file is whole");
        batches.push(decode(batch).expect("a batch of this release can be read"));
        rest = behind;
    }
    assert_eq!(rest.len(), 0, "bytes behind the last batch");
    batches
}

fn read_state(name: &str) -> Engine {
    let bytes = fs::read(path(name)).expect("the golden snapshot is committed");
    decode_state(&bytes, Config::default()).expect("a state of this release can be read")
}

fn line(recorded: &Recorded) -> String {
    format!("{} {:?}\n", recorded.at, recorded.event)
}

fn framed(batch: &[Recorded]) -> Vec<u8> {
    let bytes = encode(batch);
    let length = u32::try_from(bytes.len()).expect("a batch is far smaller");
    [&length.to_le_bytes()[..], &bytes].concat()
}

#[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the program")]
fn write_if_wanted(release: &str) {
    let journal = path(&format!("{release}.journal"));
    if journal.exists() || std::env::var_os("WINDLASS_GOLDEN").is_none() {
        return;
    }
    let History { batches, state } = history();
    let kinds: BTreeSet<_> = batches.iter().flatten().map(|it| kind(&it.event)).collect();
    assert_eq!(kinds.len(), KINDS, "a golden journal has every kind of event");
    let bytes: Vec<u8> = batches.iter().flat_map(|batch| framed(batch)).collect();
    fs::create_dir_all(path("")).expect("the folder can be made");
    fs::write(journal, bytes).expect("the journal can be written");
    let engine = fold(batches.iter().map(Vec::as_slice)).expect("it is a real history");
    let snapshot = path(&format!("{release}.snapshot"));
    fs::write(snapshot, encode_state(&engine)).expect("the snapshot can be written");
    fs::write(path(&format!("{release}.txt")), state).expect("the state can be written");
    let events = specimens();
    fs::write(path(&format!("{release}.events")), framed(&events)).expect("so can events");
    let said: String = events.iter().map(line).collect();
    fs::write(path(&format!("{release}.events.txt")), said).expect("and their text");
}
