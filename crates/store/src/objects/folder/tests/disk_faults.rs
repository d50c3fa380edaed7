//! A full disk costs nothing that was stored, and no call succeeds halfway.

use super::fixtures::{object, open, put, put_large, read};
use crate::conformance::{TestDisk, block_on as wait};
use crate::db::StoreError;
use crate::objects::{BLOCK, ObjectError, ObjectStore, check_objects};

fn is_full(error: &ObjectError) -> bool {
    matches!(error, ObjectError::Store(StoreError::Full { .. }))
}

#[test]
fn full_disk_refuses_objects_and_keeps_the_others() {
    let Some(disk) = TestDisk::mount("8m") else { return };
    let store = open(disk.path());
    let (first, second, large) = (object(1, 9_000), object(2, 200_000), object(3, 4 * BLOCK));
    put(&store, std::slice::from_ref(&first)).unwrap();
    wait(store.append(large.0, 0, large.1[..BLOCK].to_vec())).unwrap();
    disk.fill();
    let refused = put(&store, std::slice::from_ref(&second)).unwrap_err();
    assert!(is_full(&refused), "{refused}");
    let refused = put_large(&store, &large).unwrap_err();
    assert!(is_full(&refused), "{refused}");
    assert_eq!(wait(store.missing(vec![first.0, second.0, large.0])), Ok(vec![second.0, large.0]));
    assert_eq!(read(&store, first.0), Ok(first.1.clone()));
    drop(store);
    let store = open(disk.path());
    assert_eq!(wait(store.uploaded(large.0)), Ok(BLOCK as u64), "half a block does not count");
    disk.make_room();
    put(&store, std::slice::from_ref(&second)).unwrap();
    put_large(&store, &large).unwrap();
    for (id, bytes) in [first, second, large] {
        assert!(read(&store, id) == Ok(bytes), "{id}");
    }
    let check = wait(check_objects(&store)).unwrap();
    assert_eq!((check.objects, check.damaged.len()), (3, 0), "{check:?}");
}

#[test]
fn read_only_disk_is_readable() {
    let Some(disk) = TestDisk::mount("8m") else { return };
    let stored = object(1, 9_000);
    let store = open(disk.path());
    put(&store, std::slice::from_ref(&stored)).unwrap();
    if !disk.make_read_only() {
        return;
    }
    assert_eq!(read(&store, stored.0), Ok(stored.1));
    let refused = put(&store, &[object(2, 10)]).unwrap_err();
    assert!(matches!(refused, ObjectError::Store(StoreError::Unusable { .. })), "{refused}");
}
