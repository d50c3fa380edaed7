//! Uploads: objects that arrive in blocks, with interruptions.

use std::thread;

use windlass_core::object::ObjectId;

use super::journal_fixtures::block_on;
use super::objects::{FreshObjectStore, Objects, expect_missing, expect_object, list_all, object};
use super::report::{CheckResult, expect_same, expect_true};
use crate::objects::{BLOCK, ObjectError, SEND_MAX};

const BLOCK_SIZE: u64 = BLOCK as u64;

fn append(store: &Objects, id: ObjectId, at: u64, bytes: &[u8]) -> Result<u64, ObjectError> {
    block_on(store.append(id, at, bytes.to_vec()))
}

/// No call returns an incomplete object, and every call returns it when the upload is finished.
pub(super) fn an_upload_is_hidden_until_it_is_whole(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let (store, other) = (harness.open(), harness.open());
    let whole = object(1, 3 * BLOCK + 1);
    let (id, bytes) = &whole;
    for (at, block) in (0..).step_by(BLOCK).zip(bytes.chunks(BLOCK)) {
        expect_missing(&store, *id)?;
        expect_missing(&other, *id)?;
        let size = append(&store, *id, at, block);
        expect_same("the size", &size, &Ok(at + block.len() as u64))?;
    }
    expect_same("the number of objects", &list_all(&other)?.len(), &0)?;
    expect_same("the end", &block_on(store.finish(*id, bytes.len() as u64)), &Ok(()))?;
    expect_object(&store, &whole)?;
    expect_object(&other, &whole)?;
    expect_same("the upload", &block_on(store.uploaded(*id)), &Ok(0))
}

/// Uploads of every size become objects: empty ones, those of one block, and those that end at the end of a block.
pub(super) fn an_upload_may_have_any_size(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    for size in [0, 1, BLOCK, BLOCK + 1, 2 * BLOCK, SEND_MAX + 3] {
        let whole = object(size as u64, size);
        for (at, part) in (0..).step_by(SEND_MAX).zip(whole.1.chunks(SEND_MAX)) {
            append(&store, whole.0, at, part)?;
        }
        expect_same("the end", &block_on(store.finish(whole.0, size as u64)), &Ok(()))?;
        expect_same("a repeat", &block_on(store.finish(whole.0, size as u64)), &Ok(()))?;
        expect_object(&store, &whole)?;
    }
    Ok(())
}

/// An upload continues where it stopped, through any handle.
pub(super) fn an_upload_continues(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let whole = object(1, 5 * BLOCK);
    let (id, bytes) = &whole;
    let (store, other) = (harness.open(), harness.open());
    expect_same("before it begins", &block_on(other.uploaded(*id)), &Ok(0))?;
    append(&store, *id, 0, &bytes[..2 * BLOCK])?;
    expect_same("in the middle", &block_on(other.uploaded(*id)), &Ok(2 * BLOCK_SIZE))?;
    append(&other, *id, 2 * BLOCK_SIZE, &bytes[2 * BLOCK..3 * BLOCK])?;
    expect_same("seen by the first", &block_on(store.uploaded(*id)), &Ok(3 * BLOCK_SIZE))?;
    append(&store, *id, 3 * BLOCK_SIZE, &bytes[3 * BLOCK..])?;
    block_on(other.finish(*id, 5 * BLOCK_SIZE))?;
    expect_object(&store, &whole)
}

/// Bytes that are present are not written again. Bytes after a gap, across blocks or after the end are refused.
pub(super) fn blocks_follow_each_other(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let whole = object(1, 2 * BLOCK + 10);
    let (id, bytes) = &whole;
    let offset = |at, expected| Err(ObjectError::Offset { id: *id, at, expected });
    expect_same("a gap", &append(&store, *id, BLOCK_SIZE, b"x"), &offset(BLOCK_SIZE, 0))?;
    append(&store, *id, 0, &bytes[..BLOCK])?;
    expect_same("a repeat", &append(&store, *id, 0, &bytes[..BLOCK]), &Ok(BLOCK_SIZE))?;
    expect_same("an overlap", &append(&store, *id, 0, bytes), &offset(0, BLOCK_SIZE))?;
    for at in [1, BLOCK_SIZE - 1, BLOCK_SIZE + 1] {
        let refused = matches!(append(&store, *id, at, b"x"), Err(ObjectError::Limit(_)));
        expect_true(&format!("bytes at {at}, beside a block"), refused)?;
    }
    let refused = matches!(append(&store, *id, 0, b""), Err(ObjectError::Limit(_)));
    expect_true("no bytes", refused)?;
    append(&store, *id, BLOCK_SIZE, &bytes[BLOCK..])?;
    let end = 2 * BLOCK_SIZE + 10;
    let after = append(&store, *id, 3 * BLOCK_SIZE, b"x");
    expect_same("after the end", &after, &offset(3 * BLOCK_SIZE, end))?;
    let finished = block_on(store.finish(*id, end + 1)).map(|()| 0);
    expect_same("another size", &finished, &offset(end + 1, end))?;
    block_on(store.finish(*id, end))?;
    expect_object(&store, &whole)
}

/// An upload of other bytes is refused and removed, and so is one that is too long. The object can be uploaded again.
pub(super) fn an_upload_of_other_bytes_is_forgotten(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let (whole, other) = (object(1, 2 * BLOCK), object(2, 2 * BLOCK));
    let id = whole.0;
    append(&store, id, 0, &other.1)?;
    let refused = block_on(store.finish(id, 2 * BLOCK_SIZE));
    expect_same("the end", &refused, &Err(ObjectError::Mismatch { id, found: other.0 }))?;
    expect_missing(&store, id)?;
    expect_missing(&store, other.0)?;
    append(&store, id, 0, &[&other.1[..], b"more"].concat())?;
    let refused = block_on(store.finish(id, 2 * BLOCK_SIZE)).is_err();
    expect_true("a longer upload was finished", refused)?;
    expect_same("what is left of it", &block_on(store.uploaded(id)), &Ok(0))?;
    append(&store, id, 0, &whole.1)?;
    block_on(store.finish(id, 2 * BLOCK_SIZE))?;
    expect_object(&store, &whole)
}

/// Concurrent senders of one object share its upload, and all succeed.
pub(super) fn senders_at_once_share_an_upload(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let handles: Vec<Objects> = (0..3).map(|_| harness.open()).collect();
    let whole = object(1, 6 * BLOCK + 77);
    let send = |store: &Objects| -> CheckResult {
        let (id, bytes) = &whole;
        let mut at = 0;
        while at < bytes.len() {
            let block = &bytes[at..bytes.len().min(at + BLOCK)];
            let size = match append(store, *id, at as u64, block) {
                // Another sender has finished or continued it.
                Err(ObjectError::Offset { .. }) => bytes.len() as u64,
                size => size?,
            };
            at = usize::try_from(size).expect("a few megabytes");
        }
        match block_on(store.finish(*id, bytes.len() as u64)) {
            Err(ObjectError::Offset { .. }) => Ok(()),
            finished => Ok(finished?),
        }
    };
    thread::scope(|scope| {
        let send = &send;
        let senders: Vec<_> =
            handles.iter().map(|store| scope.spawn(move || send(store))).collect();
        senders.into_iter().try_for_each(|it| it.join().expect("a sender does not panic"))
    })?;
    expect_object(&handles[0], &whole)?;
    expect_same("the number of objects", &list_all(&handles[1])?.len(), &1)
}
