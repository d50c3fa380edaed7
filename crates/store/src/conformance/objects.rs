//! Objects: bytes by their hash, stored once, in batches and in ranges.

use std::sync::Arc;
use std::thread;

use windlass_core::object::ObjectId;

use super::harness::FreshStorage;
use super::journal_fixtures::block_on;
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use crate::objects::{
    BATCH_BYTES_MAX, BATCH_OBJECTS_MAX, BLOCK, ObjectError, ObjectInventory, ObjectPart,
    StoredObject,
};

pub(super) type FreshObjectStore<'a> = FreshStorage<'a, dyn ObjectInventory>;
pub(super) type Objects = Arc<dyn ObjectInventory>;

/// Returns an object of this size; objects of different numbers differ.
pub(super) fn object(number: u64, size: usize) -> (ObjectId, Vec<u8>) {
    let words = (number..).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (at % 3 * 20));
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).take(size).collect();
    (ObjectId::of(&bytes), bytes)
}

pub(super) fn put(store: &Objects, objects: &[(ObjectId, Vec<u8>)]) -> CheckResult {
    Ok(block_on(store.put_batch(objects.to_vec()))?)
}

/// Reads a whole object in parts.
pub(super) fn read_all(store: &Objects, id: ObjectId) -> Result<Vec<u8>, ObjectError> {
    let mut bytes = Vec::new();
    loop {
        let part = block_on(store.read(id, bytes.len() as u64..u64::MAX))?;
        bytes.extend(part.bytes);
        if bytes.len() as u64 >= part.size {
            return Ok(bytes);
        }
    }
}

/// Checks that the object is present with these bytes.
pub(super) fn expect_object(store: &Objects, (id, bytes): &(ObjectId, Vec<u8>)) -> CheckResult {
    let is_equal = read_all(store, *id)? == *bytes;
    expect_true(&format!("{id:?} has other bytes than were stored"), is_equal)
}

/// Checks that the object is missing for every call.
pub(super) fn expect_missing(store: &Objects, id: ObjectId) -> CheckResult {
    expect_same_list("the missing", &block_on(store.missing(vec![id]))?, &[id])?;
    let is_missing = |error: Option<ObjectError>| {
        let named = matches!(&error, Some(ObjectError::Missing { id: named, .. }) if *named == id);
        expect_true(&format!("reading a missing object: {error:?}"), named)
    };
    is_missing(block_on(store.read(id, 0..1)).err())?;
    is_missing(block_on(store.get_batch(vec![id])).err())
}

pub(super) fn list_all(store: &Objects) -> Result<Vec<StoredObject>, CheckDifference> {
    Ok(block_on(store.list(None, usize::MAX))?)
}

/// Objects of all sizes are read as they were stored, one at a time and together, in the order of the request.
pub(super) fn what_was_put_is_read(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let sizes = [0, 1, 7, 1000, 100_000, 131_072, 131_073, BLOCK - 1, BLOCK, 5, 200_000];
    let objects: Vec<_> = (0..).zip(sizes).map(|(at, size)| object(at * 1_000_000, size)).collect();
    put(&store, &objects)?;
    objects.iter().try_for_each(|object| expect_object(&store, object))?;
    let wanted: Vec<_> = objects.iter().rev().chain(&objects[2..4]).collect();
    let found = block_on(store.get_batch(wanted.iter().map(|(id, _)| *id).collect()))?;
    let promised: Vec<Vec<u8>> = wanted.iter().map(|(_, bytes)| bytes.clone()).collect();
    expect_true("a batch with repeats has other bytes", found == promised)
}

/// Objects that one handle stored are present for another, which need not store them again.
pub(super) fn another_handle_reads_them(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let (store, other) = (harness.open(), harness.open());
    let (first, second) = (object(1, 100), object(2, 100));
    expect_missing(&other, first.0)?;
    put(&store, std::slice::from_ref(&first))?;
    expect_object(&other, &first)?;
    put(&other, &[first.clone(), second.clone()])?;
    expect_object(&store, &second)?;
    expect_same("the number of objects", &list_all(&store)?.len(), &2)
}

/// An object that is stored again, or twice in a batch, takes space once.
pub(super) fn equal_objects_are_one(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let (one, two) = (object(1, 10), object(2, 20));
    for _ in 0..2 {
        put(&store, &[one.clone(), two.clone(), one.clone()])?;
        let sizes: Vec<u64> = list_all(&store)?.iter().map(|it| it.size).collect();
        expect_same("the bytes of all objects", &sizes.iter().sum(), &30_u64)?;
        expect_same("the number of objects", &sizes.len(), &2)?;
    }
    put(&store, &[])
}

/// Bytes under the id of other bytes are refused, and nothing of their batch is stored.
pub(super) fn other_bytes_are_refused(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let (good, (id, _), (found, bytes)) = (object(1, 10), object(2, 10), object(3, 10));
    let refused = block_on(store.put_batch(vec![good.clone(), (id, bytes)]));
    expect_same("the batch", &refused, &Err(ObjectError::Mismatch { id, found }))?;
    for id in [good.0, id, found] {
        expect_missing(&store, id)?;
    }
    expect_same("the number of objects", &list_all(&store)?.len(), &0)
}

/// Of many ids, the missing ones are returned in their order.
pub(super) fn missing_objects_are_told(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let objects: Vec<_> = (0..1000).map(|at| object(at * 1000, 30)).collect();
    let even: Vec<_> = objects.iter().step_by(2).cloned().collect();
    put(&store, &even)?;
    let ids: Vec<ObjectId> = objects.iter().map(|(id, _)| *id).collect();
    let odd: Vec<ObjectId> = ids.iter().skip(1).step_by(2).copied().collect();
    expect_same_list("the missing", &block_on(store.missing(ids))?, &odd)?;
    expect_same_list("of none", &block_on(store.missing(Vec::new()))?, &[])
}

/// A range ends at the end of its block or of the object. A range that begins later is empty, and so is an inverted one.
pub(super) fn ranges_end_with_their_block(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let (id, bytes) = object(1, 2 * BLOCK + 100);
    block_on(store.append(id, 0, bytes.clone()))?;
    block_on(store.finish(id, bytes.len() as u64))?;
    let (block, end) = (BLOCK as u64, bytes.len() as u64);
    let edges = [0, block - 1, block + 1, end - 1, end, u64::MAX];
    for (from, to) in edges.iter().flat_map(|from| edges.map(|to| (*from, to))) {
        let last = to.min(end).min((from / block).saturating_add(1).saturating_mul(block));
        let at = |at: u64| usize::try_from(at.min(end)).expect("a few megabytes");
        let promised = bytes.get(at(from)..at(last)).unwrap_or_default();
        let ObjectPart { bytes: found, size } = block_on(store.read(id, from..to))?;
        expect_same("the size", &size, &end)?;
        expect_true(&format!("bytes {from} to {to} differ"), found == promised)?;
    }
    Ok(())
}

/// Batches and requests have limits, each with its error. A batch contains no object that is larger than a block.
pub(super) fn batches_have_limits(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let is_limit = |what: &str, error: Option<ObjectError>| {
        expect_true(what, matches!(error, Some(ObjectError::Limit(_))))
    };
    let ids = vec![object(1, 1).0; BATCH_OBJECTS_MAX + 1];
    is_limit("too many ids", block_on(store.missing(ids.clone())).err())?;
    is_limit("too many to read", block_on(store.get_batch(ids)).err())?;
    let large = object(1, BLOCK + 1);
    is_limit("a large object", block_on(store.put_batch(vec![large.clone()])).err())?;
    let block = object(2, BLOCK);
    let many = vec![block; BATCH_BYTES_MAX / BLOCK + 1];
    is_limit("a large batch", block_on(store.put_batch(many.clone())).err())?;
    put(&store, &many[1..])?;
    let ids: Vec<ObjectId> = many.iter().map(|(id, _)| *id).collect();
    let first = block_on(store.get_batch(ids))?.len();
    expect_same("objects of a large answer", &first, &(BATCH_BYTES_MAX / BLOCK))?;
    block_on(store.append(large.0, 0, large.1.clone()))?;
    block_on(store.finish(large.0, large.1.len() as u64))?;
    is_limit("a large object in a batch", block_on(store.get_batch(vec![large.0])).err())
}

/// The list has every object once, in the order of ids, whatever the size of its pages.
pub(super) fn list_is_paged_in_order(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let mut promised: Vec<(ObjectId, u64)> = Vec::new();
    for batch in 0..3 {
        let objects: Vec<_> = (0..20).map(|at| object(batch * 90_000 + at * 1000, 9)).collect();
        put(&store, &objects)?;
        promised.extend(objects.iter().map(|(id, bytes)| (*id, bytes.len() as u64)));
    }
    for number in 0..3 {
        let (id, bytes) = object(number, BLOCK + 5);
        block_on(store.append(id, 0, bytes))?;
        block_on(store.finish(id, BLOCK as u64 + 5))?;
        promised.push((id, BLOCK as u64 + 5));
    }
    promised.sort_unstable();
    for limit in [1, 7, 63, 1000] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = block_on(store.list(after, limit))?;
            expect_true("a page is too long", page.len() <= limit)?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            found.extend(page.iter().map(|it| (it.id, it.size)));
        }
        expect_same_list(&format!("in pages of {limit}"), &found, &promised)?;
    }
    Ok(())
}

/// Handles that store the same objects concurrently all succeed, and each object is stored once.
pub(super) fn writers_at_once_agree(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let handles: Vec<Objects> = (0..4).map(|_| harness.open()).collect();
    let objects: Vec<_> = (0..50).map(|at| object(at * 1000, 500)).collect();
    let put_all = |store: &Objects, first: usize| -> CheckResult {
        objects.chunks(10).cycle().skip(first).take(5).try_for_each(|batch| put(store, batch))
    };
    thread::scope(|scope| {
        let put_all = &put_all;
        let writers: Vec<_> = (handles.iter().enumerate())
            .map(|(at, store)| scope.spawn(move || put_all(store, at)))
            .collect();
        writers.into_iter().try_for_each(|it| it.join().expect("a writer does not panic"))
    })?;
    objects.iter().try_for_each(|object| expect_object(&handles[0], object))?;
    expect_same("the number of objects", &list_all(&handles[1])?.len(), &50)
}
