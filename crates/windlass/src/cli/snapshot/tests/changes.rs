//! Files that are written while a snapshot is taken.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs};

use windlass_core::object::ObjectId;
use windlass_store::objects::{MemoryObjects, ObjectFuture, ObjectPart, ObjectStore};

use super::fixtures::{SnapshotProject, store, taken};
use crate::cli::snapshot::SnapshotMode;

/// A store that writes to a file of the project between capture and sending, so many times.
struct WritingStore {
    store: MemoryObjects,
    file: PathBuf,
    times: AtomicUsize,
}

impl fmt::Debug for WritingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl ObjectStore for WritingStore {
    fn missing(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<ObjectId>> {
        let left = self.times.load(Ordering::Relaxed);
        if left > 0 {
            self.times.store(left - 1, Ordering::Relaxed);
            fs::write(&self.file, format!("written, {left} left")).unwrap();
        }
        self.store.missing(ids)
    }

    fn put_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> ObjectFuture<'_, ()> {
        self.store.put_batch(objects)
    }

    fn get_batch(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<Vec<u8>>> {
        self.store.get_batch(ids)
    }

    fn uploaded(&self, id: ObjectId) -> ObjectFuture<'_, u64> {
        self.store.uploaded(id)
    }

    fn append(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> ObjectFuture<'_, u64> {
        self.store.append(id, at, bytes)
    }

    fn finish(&self, id: ObjectId, size: u64) -> ObjectFuture<'_, ()> {
        self.store.finish(id, size)
    }

    fn read(&self, id: ObjectId, range: Range<u64>) -> ObjectFuture<'_, ObjectPart> {
        self.store.read(id, range)
    }
}

#[test]
fn snapshot_of_a_file_that_was_written_meanwhile_is_begun_again() {
    let project = SnapshotProject::with_git();
    project.write("a", "before");
    let file = project.root().join("a");
    let store = WritingStore { store: store(), file, times: AtomicUsize::new(1) };
    let taken = taken(&project.request(SnapshotMode::Files), &store).unwrap();
    assert_eq!((taken.files, taken.bytes), (1, "written, 1 left".len() as u64));
}

#[test]
fn file_that_is_written_all_the_time_is_refused_by_name() {
    let project = SnapshotProject::with_git();
    project.write("a", "before");
    let file = project.root().join("a");
    let store = WritingStore { store: store(), file, times: AtomicUsize::new(9) };
    let error = taken(&project.request(SnapshotMode::Files), &store).unwrap_err().to_string();
    assert_eq!(
        error,
        "\"a\" changes while it is read: stop the process that writes it, and try again"
    );
}
