//! Folders for the tests.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use tempfile::TempDir;
use windlass_core::time::Time;

use crate::conformance::block_on as wait;
use crate::objects::tree::{
    CapturedTree, StatCache, TreeError, capture_tree, materialize_tree, send_tree,
};
use crate::objects::{BLOCK, MemoryObjects};

/// Later than every file, so that a cache remembers all of them.
pub(super) const LATE: Time = Time::from_millis(10_000_000_000_000);

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be created")
}

pub(super) fn store() -> MemoryObjects {
    MemoryObjects::with_capacity(1 << 30, || Time::ZERO)
}

pub(super) fn write(root: &Path, path: &str, bytes: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("there is room");
    fs::write(path, bytes).expect("there is room");
}

/// Fills a folder with one entry of each kind, names of all sorts, and files of all sizes.
pub(super) fn fill(root: &Path) {
    for (path, size) in [("a.txt", 5), ("a/b/c/deep", 100), ("a-b", 0), ("größe/日本 x", 300_000)]
    {
        write(root, path, vec![b'x'; size]);
    }
    let mut large = vec![0; 3 * BLOCK + 11];
    blake3::Hasher::new().finalize_xof().fill(&mut large);
    write(root, "large", large);
    write(root, "a/block", vec![7; BLOCK]);
    write(root, "a/copy of a.txt", vec![b'x'; 5]);
    for at in 0..300 {
        write(root, &format!("many/{at}"), at.to_string());
    }
    write(root, "bin/run", "#!/bin/sh\n");
    fs::set_permissions(root.join("bin/run"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::create_dir_all(root.join("empty/empty too")).unwrap();
    symlink("../a.txt", root.join("a/link")).unwrap();
    symlink("nowhere/yet", root.join("dangling")).unwrap();
}

pub(super) fn capture(root: &Path) -> Result<CapturedTree, TreeError> {
    capture_tree(root, &StatCache::default(), LATE)
}

/// Captures a folder, sends it, and writes it to another one.
pub(super) fn copy(from: &Path, to: &Path, modified: Option<Time>) -> Result<(), TreeError> {
    let store = store();
    let manifest = capture(from)?.manifest;
    wait(send_tree(&store, from, &manifest))?;
    wait(materialize_tree(&store, &manifest, to, modified))
}
