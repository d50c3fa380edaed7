//! Removal of unused objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use windlass_core::object::{ObjectId, PackVerdict};
use windlass_core::time::Time;

use super::frame::is_damage;
use super::layout::{self, remove_file, touched};
use super::object_file::read_size;
use super::pack_file::{PackEntry, read_index};
use super::pack_index::pack_names;
use super::set_aside::{read_sound, rewrite};
use super::store::ObjectFolder;
use crate::objects::interface::{ObjectError, RemovedObjects};

impl ObjectFolder {
    /// See [`ObjectStore::remove`](crate::objects::ObjectStore::remove).
    pub(super) fn remove(
        &self,
        ids: Vec<ObjectId>,
        since: Time,
    ) -> Result<RemovedObjects, ObjectError> {
        let ids: BTreeSet<ObjectId> = ids.into_iter().collect();
        let removed = self.remove_all(&ids, since);
        removed.map_err(|error| self.failed(&error))
    }

    fn remove_all(&self, ids: &BTreeSet<ObjectId>, since: Time) -> io::Result<RemovedObjects> {
        let mut removed = RemovedObjects::default();
        for id in ids {
            self.remove_file_of(*id, since, &mut removed)?;
        }
        for name in pack_names(&self.layout)? {
            self.remove_from_pack(&self.layout.pack(&name), (ids, since), &mut removed)?;
        }
        drop(self.refreshed()?);
        for folder in [self.layout.uploads(), self.layout.unfinished(), self.layout.damaged()] {
            remove_old_files(&folder, since)?;
        }
        Ok(removed)
    }

    /// Removes a large object. The lock is taken for each, so that other calls wait for one removal only.
    fn remove_file_of(
        &self,
        id: ObjectId,
        since: Time,
        removed: &mut RemovedObjects,
    ) -> io::Result<()> {
        let path = self.layout.file(id);
        if !is_untouched(&path, since)? {
            return Ok(());
        }
        let lock = self.layout.lock_for_removal()?;
        let bytes = read_size(&path).unwrap_or(0);
        if is_untouched(&path, since)? && remove_file(&path)? {
            self.files.close(id);
            *removed =
                RemovedObjects { objects: removed.objects + 1, bytes: removed.bytes + bytes };
        }
        drop(lock);
        Ok(())
    }

    fn remove_from_pack(
        &self,
        path: &Path,
        (ids, since): (&BTreeSet<ObjectId>, Time),
        removed: &mut RemovedObjects,
    ) -> io::Result<()> {
        if !is_untouched(path, since)? {
            return Ok(());
        }
        let entries = match read_index(path) {
            // Nothing in it can be read; a check reports it until the grace period is over.
            Err(error) if is_damage(&error) => Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let (unused, kept): (Vec<PackEntry>, Vec<PackEntry>) =
            entries.into_iter().partition(|entry| ids.contains(&entry.id));
        // An empty object counts too: a pack of empty objects is removed with the last of them.
        let weight = |entries: &[PackEntry]| -> u64 {
            entries.iter().map(|entry| u64::from(entry.size) + 1).sum()
        };
        let verdict = PackVerdict::of(weight(&unused) + weight(&kept), weight(&unused));
        if verdict == PackVerdict::Keep {
            return Ok(());
        }
        let lock = self.layout.lock_for_removal()?;
        if is_untouched(path, since)? {
            rewrite(&self.layout, &read_sound(path, &kept)?)?;
            remove_file(path)?;
            removed.objects += unused.len() as u64;
            removed.bytes += unused.iter().map(|entry| u64::from(entry.size)).sum::<u64>();
        }
        drop(lock);
        Ok(())
    }
}

/// Removes uploads, and what crashes and damage have left.
fn remove_old_files(folder: &Path, since: Time) -> io::Result<()> {
    let paths = layout::names(folder)?.into_iter().map(|name| folder.join(name));
    let old = paths.filter(|path| is_untouched(path, since).unwrap_or(false));
    old.collect::<Vec<PathBuf>>().iter().try_for_each(|path| remove_file(path).map(drop))
}

/// Whether the file is there and was not touched since.
fn is_untouched(path: &Path, since: Time) -> io::Result<bool> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        metadata => Ok(touched(&metadata?) < since),
    }
}
