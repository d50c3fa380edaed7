//! Removal of unused objects, sweeps, and the content after a restart.

use windlass_core::manifest::{EntryKind, Manifest, ManifestEntry, ManifestPath};
use windlass_core::object::ObjectId;
use windlass_core::time::Span;

use super::journal_fixtures::block_on;
use super::objects::{
    FreshObjectStore, Objects, expect_missing, expect_object, list_all, object, put,
};
use super::report::{CheckResult, expect_same, expect_same_list, expect_true};
use crate::objects::{
    BLOCK, RemovedObjects, check_objects, read_manifest, send_bytes, sweep_objects,
};

/// Longer than the inaccuracy of a recorded touch, and shorter than the minimum grace period.
const MOMENT: Span = Span::mins(2);

fn put_large(store: &Objects, (id, bytes): &(ObjectId, Vec<u8>)) -> CheckResult {
    block_on(store.append(*id, 0, bytes.clone()))?;
    Ok(block_on(store.finish(*id, bytes.len() as u64))?)
}

/// Objects that were touched at this time or later stay. The others are removed, and can be stored again.
pub(super) fn untouched_objects_are_removed(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let objects = [object(1, 10), object(2, 2 * BLOCK), object(3, 0)];
    let ids: Vec<ObjectId> = objects.iter().map(|(id, _)| *id).collect();
    for _ in 0..2 {
        put(&store, &[objects[0].clone(), objects[2].clone()])?;
        put_large(&store, &objects[1])?;
        let now = block_on(store.clock())?;
        let kept = block_on(store.remove(ids.clone(), now - MOMENT));
        expect_same("what was touched", &kept, &Ok(RemovedObjects::default()))?;
        objects.iter().try_for_each(|object| expect_object(&store, object))?;
        let removed = block_on(store.remove(ids.clone(), now + MOMENT));
        let all = RemovedObjects { objects: 3, bytes: 10 + 2 * BLOCK as u64 };
        expect_same("what was not", &removed, &Ok(all))?;
        ids.iter().try_for_each(|id| expect_missing(&store, *id))?;
        expect_same("the number of objects", &list_all(&store)?.len(), &0)?;
    }
    Ok(())
}

/// Objects stay that were stored together with removed ones.
pub(super) fn removal_touches_no_other_object(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let (store, other) = (harness.open(), harness.open());
    let objects: Vec<_> = (0..100).map(|at| object(at * 1000, 100)).collect();
    objects.chunks(30).try_for_each(|batch| put(&store, batch))?;
    expect_object(&other, &objects[0])?;
    let (removed, kept): (Vec<_>, Vec<_>) =
        objects.into_iter().enumerate().partition(|(at, _)| at % 3 != 0);
    let ids = removed.iter().map(|(_, (id, _))| *id).chain([object(7, 7).0]).collect();
    let now = block_on(store.clock())?;
    block_on(store.remove(ids, now + MOMENT))?;
    for (_, object) in &kept {
        expect_object(&store, object)?;
        expect_object(&other, object)?;
    }
    let ids = removed.iter().map(|(_, (id, _))| *id).collect::<Vec<_>>();
    let missing = block_on(other.missing(ids.clone()))?;
    // A store may keep objects for which a removal costs more than their space.
    expect_true("few were removed", missing.len() * 2 > ids.len())
}

/// An upload that was not continued is removed with unused objects.
pub(super) fn old_uploads_are_removed(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let (id, bytes) = object(1, 3 * BLOCK);
    block_on(store.append(id, 0, bytes[..BLOCK].to_vec()))?;
    let now = block_on(store.clock())?;
    block_on(store.remove(Vec::new(), now - MOMENT))?;
    expect_same("a new upload", &block_on(store.uploaded(id)), &Ok(BLOCK as u64))?;
    block_on(store.remove(Vec::new(), now + MOMENT))?;
    expect_same("an old upload", &block_on(store.uploaded(id)), &Ok(0))?;
    put_large(&store, &(id, bytes.clone()))?;
    expect_object(&store, &(id, bytes))
}

/// A sweep removes nothing within the grace period, whether it is used or not. The removal of older objects follows from
/// the rule and from the checks of removal.
pub(super) fn a_sweep_spares_what_is_new(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let objects = [object(1, 10), object(2, 20)];
    put(&store, &objects)?;
    let live = async || Ok([objects[0].0]);
    let swept = block_on(sweep_objects(&*store, live, Span::ZERO));
    expect_same("the sweep", &swept, &Ok(RemovedObjects::default()))?;
    objects.iter().try_for_each(|object| expect_object(&store, object))
}

/// A manifest is read as it was stored, and a check reports an object that it names and that is missing.
pub(super) fn a_check_finds_missing_objects(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let store = harness.open();
    let (here, gone) = (object(1, 10), object(2, 2 * BLOCK));
    put(&store, std::slice::from_ref(&here))?;
    let file = |path: &str, (object, bytes): &(ObjectId, Vec<u8>)| ManifestEntry {
        path: ManifestPath::parse(path).expect("a plain path"),
        kind: EntryKind::File { executable: false, size: bytes.len() as u64, object: *object },
    };
    let manifest = Manifest::from_entries(vec![file("a", &here), file("b", &gone)]);
    let manifest = manifest.expect("it keeps the rules");
    let id = block_on(send_bytes(&*store, manifest.encode()))?;
    expect_same("the manifest", &block_on(read_manifest(&*store, id))?, &Ok(manifest.clone()))?;
    let check = block_on(check_objects(&*store))?;
    let missing: Vec<_> = check.missing.into_iter().collect();
    expect_same_list("the missing", &missing, &[(gone.0, id)])?;
    expect_same("objects and manifests", &(check.objects, check.manifests), &(2, 1))?;
    put_large(&store, &gone)?;
    let check = block_on(check_objects(&*store))?;
    let bytes = 10 + gone.1.len() + manifest.encode().len();
    expect_same("the bytes", &check.bytes, &(bytes as u64))?;
    expect_true("something is missing", check.missing.is_empty() && check.damaged.is_empty())
}

/// After a restart all objects are present, and an upload continues where it stopped.
pub(super) fn reopened_it_has_everything(fresh: &FreshObjectStore<'_>) -> CheckResult {
    let harness = fresh();
    let (small, large) = (object(1, 1000), object(2, 4 * BLOCK + 9));
    {
        let store = harness.open();
        put(&store, std::slice::from_ref(&small))?;
        block_on(store.append(large.0, 0, large.1[..2 * BLOCK].to_vec()))?;
    }
    {
        let store = harness.open();
        expect_object(&store, &small)?;
        expect_same("the upload", &block_on(store.uploaded(large.0)), &Ok(2 * BLOCK as u64))?;
        block_on(store.append(large.0, 2 * BLOCK as u64, large.1[2 * BLOCK..].to_vec()))?;
        block_on(store.finish(large.0, large.1.len() as u64))?;
    }
    let store = harness.open();
    expect_object(&store, &small)?;
    expect_object(&store, &large)
}
