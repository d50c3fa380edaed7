//! Objects and folders for the tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use windlass_core::object::ObjectId;

use crate::conformance::block_on as wait;
use crate::objects::{BLOCK, FolderObjects, ObjectError, ObjectStore};

pub(super) type TestObject = (ObjectId, Vec<u8>);

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be created")
}

pub(super) fn open(folder: &Path) -> FolderObjects {
    FolderObjects::open(folder).expect("the folder takes objects")
}

/// Returns an object that hardly shrinks; those of other seeds differ.
pub(super) fn object(seed: u64, size: usize) -> TestObject {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    (ObjectId::of(&bytes), bytes)
}

pub(super) fn put(store: &FolderObjects, objects: &[TestObject]) -> Result<(), ObjectError> {
    wait(store.put_batch(objects.to_vec()))
}

pub(super) fn put_large(
    store: &FolderObjects,
    (id, bytes): &TestObject,
) -> Result<(), ObjectError> {
    let mut at = wait(store.uploaded(*id))?;
    while at < bytes.len() as u64 {
        let from = usize::try_from(at).expect("a few megabytes");
        let block = bytes[from..bytes.len().min(from + BLOCK)].to_vec();
        at = wait(store.append(*id, at, block))?;
    }
    wait(store.finish(*id, bytes.len() as u64))
}

pub(super) fn read(store: &FolderObjects, id: ObjectId) -> Result<Vec<u8>, ObjectError> {
    let mut bytes = Vec::new();
    loop {
        let part = wait(store.read(id, bytes.len() as u64..u64::MAX))?;
        bytes.extend(part.bytes);
        if bytes.len() as u64 >= part.size {
            return Ok(bytes);
        }
    }
}

/// Returns the files below a folder.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it is readable").path());
    let files = paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    files.collect()
}

/// Makes all files below a folder look as if they had been touched two days ago.
pub(super) fn make_old(folder: &Path) {
    for file in files(folder) {
        make_old_file(&file);
    }
}

#[expect(clippy::disallowed_methods, reason = "the time of a file is that of the system")]
fn make_old_file(path: &Path) {
    let file = File::options().append(true).open(path).expect("it is there");
    let at = SystemTime::now() - Duration::from_hours(48);
    file.set_modified(at).expect("it can be set");
}
