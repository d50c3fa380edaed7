//! Objects in memory: they end with their process.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Bound, Range};
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::interface::{
    BATCH_BYTES_MAX, BLOCK, ObjectError, ObjectFuture, ObjectInventory, ObjectPart, ObjectStore,
    RemovedObjects, StoredObject, check_batch, check_count, is_new_piece, too_large,
};
use crate::db::{NowFn, StoreError};

pub(super) const PLACE: &str = "in memory";

/// Objects in memory, for runs that need not survive their process, and for tests. There is no bound for each object, but one
/// for all of them.
#[derive(Debug)]
pub struct MemoryObjects {
    state: Mutex<MemoryObjectsState>,
    now: NowFn,
}

#[derive(Debug)]
struct MemoryObjectsState {
    objects: BTreeMap<ObjectId, MemoryObject>,
    uploads: BTreeMap<ObjectId, MemoryObject>,
    bytes: usize,
    bytes_max: usize,
}

#[derive(Debug)]
struct MemoryObject {
    bytes: Vec<u8>,
    touched: Time,
}

impl MemoryObjects {
    /// Creates an empty store of at most this number of bytes.
    pub fn with_capacity(bytes_max: usize, now: NowFn) -> Self {
        let (objects, uploads) = (BTreeMap::new(), BTreeMap::new());
        Self {
            state: Mutex::new(MemoryObjectsState { objects, uploads, bytes: 0, bytes_max }),
            now,
        }
    }

    /// Locks the state. No call panics under the lock.
    fn state(&self) -> MutexGuard<'_, MemoryObjectsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryObjectsState {
    fn missing(&mut self, ids: Vec<ObjectId>, now: Time) -> Vec<ObjectId> {
        ids.into_iter().filter(|id| !self.touch(*id, now)).collect()
    }

    fn touch(&mut self, id: ObjectId, now: Time) -> bool {
        self.objects.get_mut(&id).map(|object| object.touched = now).is_some()
    }

    fn put(&mut self, objects: Vec<(ObjectId, Vec<u8>)>, now: Time) -> Result<(), ObjectError> {
        check_batch(&objects)?;
        let is_new = |(id, _): &&(ObjectId, _)| !self.objects.contains_key(id);
        let more = objects.iter().filter(is_new).map(|(_, bytes)| bytes.len()).sum();
        self.reserve(more)?;
        for (id, bytes) in objects {
            // It may be in the batch twice.
            if !self.touch(id, now) {
                self.bytes += bytes.len();
                self.objects.insert(id, MemoryObject { bytes, touched: now });
            }
        }
        Ok(())
    }

    fn reserve(&self, more: usize) -> Result<(), ObjectError> {
        if self.bytes.saturating_add(more) > self.bytes_max {
            return Err(StoreError::Full { place: PLACE.to_owned() }.into());
        }
        Ok(())
    }

    fn get_batch(&self, ids: &[ObjectId]) -> Result<Vec<Vec<u8>>, ObjectError> {
        check_count(ids.len())?;
        let (mut found, mut bytes) = (Vec::new(), 0);
        for id in ids {
            let object = &self.object(*id)?.bytes;
            if object.len() > BLOCK {
                return Err(too_large(*id, object.len() as u64));
            }
            bytes += object.len();
            if bytes > BATCH_BYTES_MAX && !found.is_empty() {
                break;
            }
            found.push(object.clone());
        }
        Ok(found)
    }

    fn object(&self, id: ObjectId) -> Result<&MemoryObject, ObjectError> {
        let missing = || ObjectError::Missing { id, place: PLACE.to_owned() };
        self.objects.get(&id).ok_or_else(missing)
    }

    fn append(
        &mut self,
        id: ObjectId,
        at: u64,
        bytes: &[u8],
        now: Time,
    ) -> Result<u64, ObjectError> {
        let size = self.uploaded(id);
        if !is_new_piece(id, size, at, bytes)? {
            return Ok(size);
        }
        self.reserve(bytes.len())?;
        self.bytes += bytes.len();
        let begin = || MemoryObject { bytes: Vec::new(), touched: now };
        let upload = self.uploads.entry(id).or_insert_with(begin);
        upload.bytes.extend_from_slice(bytes);
        upload.touched = now;
        Ok(upload.bytes.len() as u64)
    }

    fn uploaded(&self, id: ObjectId) -> u64 {
        self.uploads.get(&id).map_or(0, |upload| upload.bytes.len() as u64)
    }

    fn finish(&mut self, id: ObjectId, size: u64, now: Time) -> Result<(), ObjectError> {
        let uploaded = self.uploaded(id);
        if self.touch(id, now) {
            self.drop_upload(id);
            return Ok(());
        }
        if uploaded > size {
            // It can never become the object.
            self.drop_upload(id);
            return Err(ObjectError::Offset { id, at: size, expected: 0 });
        }
        if uploaded < size {
            return Err(ObjectError::Offset { id, at: size, expected: uploaded });
        }
        let bytes = self.drop_upload(id);
        let found = ObjectId::of(&bytes);
        if found != id {
            return Err(ObjectError::Mismatch { id, found });
        }
        self.bytes += bytes.len();
        self.objects.insert(id, MemoryObject { bytes, touched: now });
        Ok(())
    }

    fn drop_upload(&mut self, id: ObjectId) -> Vec<u8> {
        let bytes = self.uploads.remove(&id).map(|upload| upload.bytes).unwrap_or_default();
        self.bytes -= bytes.len();
        bytes
    }

    fn read(&self, id: ObjectId, range: &Range<u64>) -> Result<ObjectPart, ObjectError> {
        let all = &self.object(id)?.bytes;
        Ok(part_of(all, range))
    }

    fn remove(&mut self, ids: &[ObjectId], since: Time) -> RemovedObjects {
        let mut removed = RemovedObjects::default();
        for id in ids {
            if let Entry::Occupied(object) = self.objects.entry(*id)
                && object.get().touched < since
            {
                removed.objects += 1;
                removed.bytes += object.remove().bytes.len() as u64;
            }
        }
        let old: Vec<ObjectId> =
            self.uploads.iter().filter(|(_, it)| it.touched < since).map(|(id, _)| *id).collect();
        for id in old {
            self.drop_upload(id);
        }
        self.bytes -= usize::try_from(removed.bytes).expect("they were in memory");
        removed
    }
}

/// Returns the bytes of a range, at most to the end of the block in which it begins.
pub(super) fn part_of(all: &[u8], range: &Range<u64>) -> ObjectPart {
    let at = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(all.len());
    let from = at(range.start);
    let to = at(range.end).min((from / BLOCK + 1) * BLOCK).max(from);
    ObjectPart { bytes: all[from..to].to_vec(), size: all.len() as u64 }
}

impl ObjectStore for MemoryObjects {
    fn missing(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<ObjectId>> {
        Box::pin(async move {
            check_count(ids.len())?;
            Ok(self.state().missing(ids, (self.now)()))
        })
    }

    fn put_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> ObjectFuture<'_, ()> {
        Box::pin(async move { self.state().put(objects, (self.now)()) })
    }

    fn get_batch(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<Vec<u8>>> {
        Box::pin(async move { self.state().get_batch(&ids) })
    }

    fn uploaded(&self, id: ObjectId) -> ObjectFuture<'_, u64> {
        Box::pin(async move { Ok(self.state().uploaded(id)) })
    }

    fn append(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> ObjectFuture<'_, u64> {
        Box::pin(async move { self.state().append(id, at, &bytes, (self.now)()) })
    }

    fn finish(&self, id: ObjectId, size: u64) -> ObjectFuture<'_, ()> {
        Box::pin(async move { self.state().finish(id, size, (self.now)()) })
    }

    fn read(&self, id: ObjectId, range: Range<u64>) -> ObjectFuture<'_, ObjectPart> {
        Box::pin(async move { self.state().read(id, &range) })
    }
}

impl ObjectInventory for MemoryObjects {
    fn list(&self, after: Option<ObjectId>, limit: usize) -> ObjectFuture<'_, Vec<StoredObject>> {
        Box::pin(async move {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let state = self.state();
            let objects = state.objects.range((from, Bound::Unbounded)).take(limit);
            let stored = |(id, object): (&ObjectId, &MemoryObject)| StoredObject {
                id: *id,
                size: object.bytes.len() as u64,
                touched: object.touched,
            };
            Ok(objects.map(stored).collect())
        })
    }

    fn remove(&self, ids: Vec<ObjectId>, since: Time) -> ObjectFuture<'_, RemovedObjects> {
        Box::pin(async move { Ok(self.state().remove(&ids, since)) })
    }

    fn clock(&self) -> ObjectFuture<'_, Time> {
        Box::pin(async move { Ok((self.now)()) })
    }
}
