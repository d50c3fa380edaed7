//! `windlass store check`: sound stores, damaged objects, and missing ones.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use windlass_core::object::ObjectId;
use windlass_core::time::Time;
use windlass_store::conformance::block_on;
use windlass_store::objects::tree::{StatCache, capture_tree, send_tree};
use windlass_store::objects::{FolderObjects, ObjectStore as _};

use crate::support::project_folder::ProjectFolder;

/// A project whose store has the objects of its folder `src`: four files and a manifest.
fn project() -> ProjectFolder {
    let project = ProjectFolder::empty();
    for (name, text) in [("src/a", "a"), ("src/b", "b"), ("src/sub/c", "c")] {
        project.file(name, text);
    }
    project.file("src/large", vec![7; 3 << 20]);
    let source = project.path().join("src");
    let captured = capture_tree(&source, &StatCache::default(), Time::ZERO);
    let captured = captured.expect("it is readable");
    let store = FolderObjects::open(project.path().join(".windlass")).expect("there is room");
    block_on(send_tree(&store, &source, &captured.manifest)).expect("there is room");
    project
}

/// The file of the large object in the store.
fn large_object(project: &ProjectFolder) -> PathBuf {
    let id = ObjectId::of(&vec![7; 3 << 20]).to_string();
    project.path().join(".windlass/objects/files").join(&id[..2]).join(id)
}

#[test]
fn sound_store_exits_with_0() {
    let project = project();
    let report = project.run("store check");
    assert_eq!(report.code, Some(0), "{report:?}");
    // Three files of one byte, one of 3 MiB, and the manifest of 214 bytes.
    let bytes = 3 + (3 << 20) + 214;
    assert_eq!(report.out, format!("5 objects of {bytes} bytes are sound, 1 of them manifests\n"));
}

#[test]
fn damaged_object_is_named_and_then_missing() {
    let project = project();
    let file = large_object(&project);
    let mut bytes = fs::read(&file).unwrap();
    bytes[100] ^= 1;
    fs::write(&file, bytes).unwrap();
    let report = project.run("store check");
    assert_eq!(report.code, Some(5), "{report:?}");
    let id = file.file_name().unwrap().to_str().unwrap();
    let lines: Vec<&str> = report.out.lines().collect();
    assert!(lines[0].starts_with(&format!("damaged: the object {id} is damaged in ")), "{lines:?}");
    assert!(lines[1].starts_with(&format!("missing: {id}, in manifest ")), "{lines:?}");
    assert!(!file.exists(), "it was set aside");
    let again: Value = serde_json::from_str(&project.run("store check --json").out).unwrap();
    assert_eq!((&again["sound"], &again["damaged"]), (&Value::from(false), &Value::from([""; 0])));
    assert_eq!(again["missing"][0]["object"], id);
}

#[test]
fn lost_pack_is_a_list_of_missing_objects() {
    let project = project();
    let store = FolderObjects::open(project.path().join(".windlass")).unwrap();
    let ids = [b"a", b"b", b"c"].map(|bytes| ObjectId::of(bytes));
    let later = Time::from_millis(u64::MAX);
    block_on(store.remove(ids.to_vec(), later)).unwrap();
    let report = project.run("store check");
    assert_eq!((report.code, report.out.matches("missing: ").count()), (Some(5), 3), "{report:?}");
}

#[test]
fn store_without_objects_stays_without() {
    let project = ProjectFolder::empty();
    fs::create_dir(project.path().join(".windlass")).unwrap();
    let report = project.run("store check --store .windlass");
    assert_eq!(report.code, Some(0), "{report:?}");
    assert_eq!(report.out, "0 objects of 0 bytes are sound, 0 of them manifests\n");
    assert!(!project.path().join(".windlass/objects").exists());
    let report = project.run("store check --store elsewhere");
    assert_eq!(report.code, Some(2), "{report:?}");
    assert!(report.err.contains("there is no store in "), "{report:?}");
}
