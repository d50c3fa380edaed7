//! What crashes leave, and sweeps that find it.

use std::fs;

use windlass_core::time::Span;

use super::fixtures::{TestObject, files, folder, make_old, object, open, put, put_large, read};
use crate::conformance::block_on as wait;
use crate::objects::{BLOCK, ObjectInventory, ObjectStore, RemovedObjects, sweep_objects};

const DAY: Span = Span::hours(24);

/// A crash between writing and renaming leaves a file that no reader sees and that a sweep removes.
#[test]
fn file_that_was_not_renamed_is_invisible_and_is_swept() {
    let folder = folder();
    let (pack, unfinished) = (object(1, 100), folder.path().join("objects/new/0123"));
    {
        let store = open(folder.path());
        put(&store, std::slice::from_ref(&pack)).unwrap();
        let packs = files(&folder.path().join("objects/packs"));
        fs::rename(&packs[0], &unfinished).unwrap();
    }
    let store = open(folder.path());
    assert_eq!(wait(store.missing(vec![pack.0])), Ok(vec![pack.0]));
    let sweep = || wait(sweep_objects(&store, async || Ok([]), DAY)).unwrap();
    sweep();
    assert!(unfinished.exists(), "another process may write it at this moment");
    make_old(folder.path());
    sweep();
    assert!(!unfinished.exists());
}

/// A crash leaves half a block at the end of an upload: the whole blocks before it count.
#[test]
fn upload_continues_after_its_last_whole_block() {
    let whole = object(1, 3 * BLOCK);
    for cut in [1, 5, 500_000, BLOCK] {
        let folder = folder();
        let store = open(folder.path());
        wait(store.append(whole.0, 0, whole.1[..2 * BLOCK].to_vec())).unwrap();
        drop(store);
        let upload = folder.path().join("objects/uploads").join(whole.0.to_string());
        let size = fs::metadata(&upload).unwrap().len();
        fs::File::options().write(true).open(&upload).unwrap().set_len(size - cut as u64).unwrap();
        let store = open(folder.path());
        assert_eq!(wait(store.uploaded(whole.0)), Ok(BLOCK as u64), "cut by {cut}");
        put_large(&store, &whole).unwrap();
        assert!(read(&store, whole.0).as_ref() == Ok(&whole.1), "cut by {cut}");
    }
}

/// A crash between writing the table and renaming leaves an upload with its table.
#[test]
fn upload_with_its_table_continues() {
    let folder = folder();
    let whole = object(1, 2 * BLOCK + 1);
    let upload = folder.path().join("objects/uploads").join(whole.0.to_string());
    {
        let store = open(folder.path());
        put_large(&store, &whole).unwrap();
        let file = files(&folder.path().join("objects/files")).remove(0);
        fs::rename(file, upload).unwrap();
    }
    let store = open(folder.path());
    assert_eq!(wait(store.missing(vec![whole.0])), Ok(vec![whole.0]));
    assert_eq!(wait(store.uploaded(whole.0)), Ok(whole.1.len() as u64));
    put_large(&store, &whole).unwrap();
    assert!(read(&store, whole.0) == Ok(whole.1));
}

/// Live and touched objects stay; the pack of the others shrinks, and no other object of it changes.
#[test]
fn sweep_removes_what_is_old_and_unused() {
    let folder = folder();
    let store = open(folder.path());
    let objects: Vec<TestObject> = (0..10).map(|seed| object(seed, 1000)).collect();
    let larges = [object(20, BLOCK + 1), object(21, BLOCK + 1), object(22, BLOCK + 1)];
    put(&store, &objects).unwrap();
    for large in &larges {
        put_large(&store, large).unwrap();
    }
    make_old(folder.path());
    // Asked for a moment ago: it stays, although nothing names it.
    assert_eq!(wait(store.missing(vec![larges[2].0])), Ok(vec![]));
    let live = [objects[0].0, objects[1].0, larges[0].0];
    let swept = wait(sweep_objects(&store, async || Ok(live), DAY)).unwrap();
    let bytes = 8 * 1000 + BLOCK as u64 + 1;
    assert_eq!(swept, RemovedObjects { objects: 9, bytes });
    let kept: Vec<_> = wait(store.list(None, 100)).unwrap().iter().map(|it| it.id).collect();
    let mut promised = [&live[..], &[larges[2].0]].concat();
    promised.sort_unstable();
    assert_eq!(kept, promised);
    for (id, bytes) in objects[..2].iter().chain([&larges[0], &larges[2]]) {
        assert!(read(&store, *id).as_ref() == Ok(bytes), "{id}");
    }
}

/// A question touches the pack of an object, so the whole pack stays.
#[test]
fn question_protects_a_pack_from_a_sweep_that_has_begun() {
    let folder = folder();
    let (store, other) = (open(folder.path()), open(folder.path()));
    let objects = [object(1, 10), object(2, 10)];
    put(&store, &objects).unwrap();
    make_old(folder.path());
    let live = async || {
        assert_eq!(other.missing(vec![objects[0].0]).await, Ok(vec![]));
        Ok([])
    };
    assert_eq!(wait(sweep_objects(&store, live, DAY)), Ok(RemovedObjects::default()));
    assert_eq!(read(&other, objects[0].0), Ok(objects[0].1.clone()));
}
