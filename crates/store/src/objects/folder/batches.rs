//! Questions about objects, and batches of small ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use windlass_core::object::ObjectId;

use super::layout::touch;
use super::pack_file::{PackEntry, PackReader};
use super::pack_writer::write_pack;
use super::set_aside::DamagedFile;
use super::store::ObjectFolder;
use crate::objects::interface::{
    BATCH_BYTES_MAX, ObjectError, check_batch, check_count, too_large,
};

/// How often objects are looked up again because another process has replaced their pack at this moment.
pub(super) const LOOKS_MAX: usize = 4;

impl ObjectFolder {
    /// See [`ObjectStore::missing`](crate::objects::ObjectStore::missing).
    pub(super) fn missing(&self, ids: &[ObjectId]) -> Result<Vec<ObjectId>, ObjectError> {
        check_count(ids.len())?;
        self.touch(ids).map_err(|error| self.failed(&error))
    }

    /// Touches objects, and returns the missing ones. No pack vanishes under the lock.
    fn touch(&self, ids: &[ObjectId]) -> io::Result<Vec<ObjectId>> {
        let lock = self.layout.lock_for_touching()?;
        let now = self.layout.clock()?;
        let (mut packs, mut others) = (BTreeSet::new(), Vec::new());
        {
            let index = self.refreshed()?;
            for id in ids {
                match index.get(*id) {
                    Some(packed) => drop(packs.insert(packed.pack)),
                    None => others.push(*id),
                }
            }
        }
        for pack in packs {
            touch(&self.layout.pack(&pack), now)?;
        }
        let mut missing = Vec::new();
        for id in others {
            if !touch(&self.layout.file(id), now)? {
                missing.push(id);
            }
        }
        drop(lock);
        Ok(missing)
    }

    /// See [`ObjectStore::put_batch`](crate::objects::ObjectStore::put_batch).
    pub(super) fn put_batch(&self, objects: &[(ObjectId, Vec<u8>)]) -> Result<(), ObjectError> {
        check_batch(objects)?;
        let ids: Vec<ObjectId> = objects.iter().map(|(id, _)| *id).collect();
        let mut missing: BTreeSet<ObjectId> = self.missing(&ids)?.into_iter().collect();
        let new = objects.iter().filter(|(id, _)| missing.remove(id));
        let new: Vec<(ObjectId, &[u8])> = new.map(|(id, bytes)| (*id, &bytes[..])).collect();
        if new.is_empty() {
            return Ok(());
        }
        let pack = write_pack(&self.layout, &new).map_err(|error| self.failed(&error))?;
        self.index().add(pack.name, &pack.entries);
        Ok(())
    }

    /// See [`ObjectStore::get_batch`](crate::objects::ObjectStore::get_batch).
    pub(super) fn get_batch(&self, ids: &[ObjectId]) -> Result<Vec<Vec<u8>>, ObjectError> {
        check_count(ids.len())?;
        for _ in 0..LOOKS_MAX {
            let located = self.locate(ids)?;
            if let Some(objects) = self.read_packed(&located)? {
                return Ok(objects);
            }
            drop(self.refreshed().map_err(|error| self.failed(&error))?);
        }
        Err(self.missing_object(ids[0]))
    }

    /// Finds the packs of the first objects that fit in a batch.
    fn locate(&self, ids: &[ObjectId]) -> Result<Vec<(String, PackEntry)>, ObjectError> {
        let mut index = self.index();
        if !ids.iter().all(|id| index.contains(*id)) {
            index.refresh(&self.layout).map_err(|error| self.failed(&error))?;
        }
        let (mut located, mut bytes) = (Vec::new(), 0);
        for id in ids {
            let packed = index.get(*id).ok_or_else(|| self.not_packed(*id))?;
            bytes += packed.entry.size as usize;
            if bytes > BATCH_BYTES_MAX && !located.is_empty() {
                break;
            }
            located.push((packed.pack, packed.entry));
        }
        Ok(located)
    }

    fn not_packed(&self, id: ObjectId) -> ObjectError {
        match super::object_file::read_size(&self.layout.file(id)) {
            Ok(size) => too_large(id, size),
            Err(_) => self.missing_object(id),
        }
    }

    pub(super) fn missing_object(&self, id: ObjectId) -> ObjectError {
        ObjectError::Missing { id, place: self.place.clone() }
    }

    /// Reads objects pack by pack and frame by frame. `None` if a pack has vanished.
    fn read_packed(
        &self,
        located: &[(String, PackEntry)],
    ) -> Result<Option<Vec<Vec<u8>>>, ObjectError> {
        let mut order: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, (pack, _)) in located.iter().enumerate() {
            order.entry(pack).or_default().push(at);
        }
        let mut objects = vec![Vec::new(); located.len()];
        for (pack, mut places) in order {
            places.sort_unstable_by_key(|at| (located[*at].1.frame, located[*at].1.start));
            let entries = places.iter().map(|at| (*at, &located[*at].1));
            if !self.read_pack(pack, entries, &mut objects)? {
                return Ok(None);
            }
        }
        Ok(Some(objects))
    }

    fn read_pack<'a>(
        &self,
        pack: &str,
        entries: impl Iterator<Item = (usize, &'a PackEntry)>,
        objects: &mut [Vec<u8>],
    ) -> Result<bool, ObjectError> {
        let mut reader = match PackReader::open(&self.layout.pack(pack)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            reader => reader.map_err(|error| self.failed(&error))?,
        };
        for (at, entry) in entries {
            let read = reader.read(entry).map_err(|error| self.failed(&error))?;
            objects[at] = read.map_err(|reason| {
                self.corrupt(entry.id, &DamagedFile::Pack(pack.to_owned()), reason)
            })?;
        }
        Ok(true)
    }
}
