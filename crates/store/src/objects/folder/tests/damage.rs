//! Bit flips: detected by every reader, never returned, and healed when the object is stored again.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_core::object::ObjectId;

use super::fixtures::{TestObject, files, folder, object, open, put, put_large, read};
use crate::conformance::block_on as wait;
use crate::objects::{BLOCK, ObjectError, check_objects};

fn sample() -> (Vec<TestObject>, TestObject) {
    let text = b"windlass ".repeat(3000);
    let small = (0..6).map(|seed| object(seed, 300)).chain([(ObjectId::of(&text), text)]);
    (small.collect(), object(9, 2 * BLOCK + 5))
}

fn copy_folder(from: &Path, to: &Path) {
    for file in files(from) {
        let copy = to.join(file.strip_prefix(from).expect("it is below"));
        fs::create_dir_all(copy.parent().expect("it is in a folder")).expect("there is room");
        fs::copy(&file, &copy).expect("there is room");
    }
}

/// Flips a bit of each file, at many places, in a store of its own.
#[test]
fn flipped_bit_is_never_returned_and_is_healed() {
    let (small, large) = sample();
    let original = folder();
    {
        let store = open(original.path());
        put(&store, &small).unwrap();
        put_large(&store, &large).unwrap();
    }
    for file in files(original.path()) {
        let size = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
        let name = file.strip_prefix(original.path()).unwrap();
        for at in
            (0..size).step_by((size / 9).max(1)).chain((size.saturating_sub(60)..size).step_by(5))
        {
            let copy = folder();
            copy_folder(original.path(), copy.path());
            let mut bytes = fs::read(&file).unwrap();
            bytes[at] ^= 1 << (at % 8);
            fs::write(copy.path().join(name), bytes).unwrap();
            examine(copy.path(), &small, &large, &format!("byte {at} of {}", name.display()));
        }
    }
}

fn examine(folder: &Path, small: &[TestObject], large: &TestObject, case: &str) {
    let store = open(folder);
    let mut damaged = 0;
    for (id, bytes) in small.iter().chain([large]) {
        match read(&store, *id) {
            Ok(found) => assert!(found == *bytes, "{case}: other bytes"),
            Err(ObjectError::Corrupt { .. } | ObjectError::Missing { .. }) => damaged += 1,
            Err(error) => panic!("{case}: {error}"),
        }
    }
    assert!(damaged > 0, "{case}: every byte of the files is needed");
    put(&store, small).unwrap();
    put_large(&store, large).unwrap();
    for (id, bytes) in small.iter().chain([large]) {
        assert!(read(&store, *id).as_ref() == Ok(bytes), "{case}: not healed");
    }
}

#[test]
fn check_names_damaged_objects_and_packs() {
    let (_, large) = sample();
    let folder = folder();
    let store = open(folder.path());
    let small = [object(1, 300), object(2, 200_000)];
    put(&store, &small).unwrap();
    put(&store, &[object(3, 300)]).unwrap();
    put_large(&store, &large).unwrap();
    drop(store);
    let all = files(folder.path());
    let named = |id: String| all.iter().find(|path| path.ends_with(&id)).expect("it is there");
    let mut packs: Vec<&PathBuf> =
        all.iter().filter(|path| path.extension().is_some_and(|it| it == "pack")).collect();
    packs.sort_by_key(|path| fs::metadata(path).unwrap().len());
    // The second object of the large pack, a block of the large object, and the index of the small pack.
    for (path, at) in [(packs[1], 5_000), (named(large.0.to_string()), 2_000_000)] {
        let mut bytes = fs::read(path).unwrap();
        bytes[at] ^= 4;
        fs::write(path, bytes).unwrap();
    }
    fs::write(packs[0], b"short").unwrap();
    let store = open(folder.path());
    let check = wait(check_objects(&store)).unwrap();
    assert_eq!((check.objects, check.bytes, check.damaged.len()), (1, 300, 2), "{check:?}");
    let unreadable = store.unreadable_packs().unwrap();
    assert_eq!(unreadable.len(), 1, "{unreadable:?}");
    assert!(unreadable[0].starts_with(&packs[0].display().to_string()), "{unreadable:?}");
    let aside = files(&folder.path().join("objects/damaged"));
    assert_eq!(aside.len(), 2, "{aside:?}");
    let again = wait(check_objects(&store)).unwrap();
    assert_eq!((again.objects, again.damaged.len()), (1, 0), "{again:?}");
}
