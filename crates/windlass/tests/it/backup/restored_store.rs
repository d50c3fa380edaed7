//! What a backup and a restored store must have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use windlass::core::engine::Event;
use windlass_store::conformance::block_on;
use windlass_store::journal::{Journal as _, Position, RecordedEvent, SqliteJournal};

use crate::support::project_folder::ProjectFolder;

/// Every event in a journal; none of them was pruned.
pub(super) fn events(folder: &Path) -> Vec<Arc<RecordedEvent>> {
    let journal = SqliteJournal::read(folder).expect("there is a journal");
    let batches = block_on(journal.tail(Position(0), usize::MAX)).expect("nothing was pruned");
    batches.iter().flat_map(|batch| batch.events.clone()).collect()
}

/// Fails unless a restored store has the events of the source up to a position, and no others.
#[track_caller]
pub(super) fn has_same_events(source: &Path, restored: &Path, position: u64) {
    let (mut source, restored) = (events(source), events(restored));
    source.retain(|it| it.position.0 <= position);
    assert_eq!(restored.len(), source.len());
    for (there, here) in source.iter().zip(&restored) {
        assert_eq!(there, here);
    }
    assert_eq!(restored.last().map_or(0, |last| last.position.0), position);
}

/// The files of the logs below a store, with their content.
pub(super) fn logs(store: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for run in fs::read_dir(store.join("logs")).into_iter().flatten().flatten() {
        for log in fs::read_dir(run.path()).expect("it is a folder").flatten() {
            let name = format!("{}/{}", run.file_name().display(), log.file_name().display());
            found.insert(name, fs::read(log.path()).expect("it can be read"));
        }
    }
    found
}

/// Fails unless the logs of a restored store are those of the deliveries in its journal: the beginning of each in the source,
/// and all of it if the delivery had ended.
#[track_caller]
pub(super) fn has_logs_of_its_events(source: &Path, restored: &Path) {
    let (there, here) = (logs(source), logs(restored));
    let (mut granted, mut last, mut ended) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    for recorded in events(restored) {
        match &recorded.event {
            Event::Granted(it) => {
                let log = format!("{}/{}.{}.{}.log", it.run, it.step.0, it.attempt, it.delivery);
                last.insert((it.run, it.step), log.clone());
                granted.insert(log);
            }
            Event::LeaseEnded(it) => ended.extend(last.get(&(it.run, it.step)).cloned()),
            _ => {}
        }
    }
    for (log, bytes) in &here {
        assert!(granted.contains(log), "{log} is of no delivery that the journal knows");
        assert!(there[log].starts_with(bytes), "{log} is no beginning of that in the source");
    }
    for log in ended {
        assert_eq!(here.get(&log), there.get(&log), "{log}");
    }
}

/// Backs the store of a project up, and returns the position.
#[track_caller]
pub(super) fn back_up(project: &ProjectFolder, line: &str) -> u64 {
    let manifest: Value =
        serde_json::from_str(&project.data(&format!("store backup --json {line}")))
            .expect("it is JSON");
    manifest["position"].as_u64().expect("a number")
}

/// Fails unless nothing in a store or a backup is damaged.
#[track_caller]
pub(super) fn is_sound(project: &ProjectFolder, store: &str) {
    let checked: Value =
        serde_json::from_str(&project.data(&format!("store check --json {store}")))
            .expect("it is JSON");
    assert_eq!(checked["findings"], serde_json::json!([]), "{checked}");
}
