//! Folders that are sent to a store on disk.

use std::fs;

use windlass_core::manifest::EntryKind;
use windlass_core::object::ObjectId;

use super::fixtures::{capture, fill, folder, write};
use crate::conformance::block_on as wait;
use crate::objects::tree::{materialize_tree, send_tree};
use crate::objects::{FolderObjects, ObjectStore as _, read_manifest};

#[test]
fn files_that_the_store_has_are_not_sent() {
    let (from, folder) = (folder(), folder());
    fill(from.path());
    let store = FolderObjects::open(folder.path()).unwrap();
    let manifest = capture(from.path()).unwrap().manifest;
    let first = wait(send_tree(&store, from.path(), &manifest)).unwrap();
    // The copy is the same object as the original.
    let files = manifest.entries().iter().filter(|it| matches!(it.kind, EntryKind::File { .. }));
    assert_eq!(first.objects, files.count() - 1);
    assert_eq!(wait(read_manifest(&store, first.manifest)).unwrap(), Ok(manifest.clone()));
    let again = wait(send_tree(&store, from.path(), &manifest)).unwrap();
    assert_eq!((again.objects, again.bytes, again.manifest), (0, 0, first.manifest));
    write(from.path(), "many/7", "changed");
    let manifest = capture(from.path()).unwrap().manifest;
    let changed = wait(send_tree(&store, from.path(), &manifest)).unwrap();
    assert_eq!((changed.objects, changed.bytes), (1, 7));
}

#[test]
fn upload_of_a_large_file_continues() {
    let (from, stored) = (folder(), folder());
    fill(from.path());
    let store = FolderObjects::open(stored.path()).unwrap();
    let bytes = fs::read(from.path().join("large")).unwrap();
    wait(store.append(ObjectId::of(&bytes), 0, bytes[..2 << 20].to_vec())).unwrap();
    let manifest = capture(from.path()).unwrap().manifest;
    wait(send_tree(&store, from.path(), &manifest)).unwrap();
    let to = folder();
    wait(materialize_tree(&store, &manifest, to.path(), None)).unwrap();
    assert!(fs::read(to.path().join("large")).unwrap() == bytes);
}
