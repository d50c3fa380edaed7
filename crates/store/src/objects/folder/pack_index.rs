//! The objects of all packs, as this process knows them: 1,000,000 objects take about 80 MB.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::path::Path;

use windlass_core::object::ObjectId;

use super::frame::is_damage;
use super::layout::{self, ObjectLayout};
use super::pack_file::{PackEntry, read_index};

/// The number of a pack in this process.
type PackNumber = u32;

/// An object in a pack.
#[derive(Clone, Debug)]
pub(super) struct PackedObject {
    pub(super) pack: String,
    pub(super) entry: PackEntry,
}

/// The objects of all packs.
#[derive(Debug, Default)]
pub(super) struct PackIndex {
    objects: BTreeMap<ObjectId, (PackNumber, [u32; 3])>,
    names: BTreeMap<PackNumber, String>,
    numbers: BTreeMap<String, PackNumber>,
    next: PackNumber,
    /// Packs whose index cannot be read, with the reason.
    unreadable: BTreeMap<String, String>,
}

impl PackIndex {
    /// Returns the location of an object.
    pub(super) fn get(&self, id: ObjectId) -> Option<PackedObject> {
        let (number, [frame, start, size]) = *self.objects.get(&id)?;
        let pack = self.names.get(&number)?.clone();
        Some(PackedObject { pack, entry: PackEntry { id, frame, start, size } })
    }

    pub(super) fn contains(&self, id: ObjectId) -> bool {
        self.objects.contains_key(&id)
    }

    /// Returns objects after `after`, in order, with their pack and size.
    pub(super) fn after(
        &self,
        after: Option<ObjectId>,
    ) -> impl Iterator<Item = (ObjectId, &str, u32)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let objects = self.objects.range((from, Bound::Unbounded));
        objects.filter_map(|(id, (number, [_, _, size]))| {
            Some((*id, self.names.get(number)?.as_str(), *size))
        })
    }

    /// Returns the packs whose index cannot be read, with the reason.
    pub(super) fn unreadable(&self) -> &BTreeMap<String, String> {
        &self.unreadable
    }

    /// Adds a pack of this process.
    pub(super) fn add(&mut self, name: String, entries: &[PackEntry]) {
        self.unreadable.remove(&name);
        let next = self.next;
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        self.next += u32::from(number == next);
        self.names.insert(number, name);
        let location = |entry: &PackEntry| (number, [entry.frame, entry.start, entry.size]);
        self.objects.extend(entries.iter().map(|entry| (entry.id, location(entry))));
    }

    /// Reads the indexes of packs that other processes have written. If a pack has vanished, all are read again: another pack
    /// can have the same objects.
    pub(super) fn refresh(&mut self, layout: &ObjectLayout) -> io::Result<()> {
        let names = pack_names(layout)?;
        let is_listed = |name: &String| names.binary_search(name).is_ok();
        self.unreadable.retain(|name, _| is_listed(name));
        if !self.numbers.keys().all(is_listed) {
            *self = Self::default();
        }
        for name in names {
            if !self.numbers.contains_key(&name) && !self.unreadable.contains_key(&name) {
                self.load(&layout.pack(&name), name)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, path: &Path, name: String) -> io::Result<()> {
        match read_index(path) {
            Ok(entries) => self.add(name, &entries),
            // Another process has removed it since it was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if is_damage(&error) => {
                self.unreadable.insert(name, error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Returns the names of the packs in the folder, sorted.
pub(super) fn pack_names(layout: &ObjectLayout) -> io::Result<Vec<String>> {
    let names = layout::names(&layout.packs())?.into_iter();
    let packs = names.filter_map(|name| name.strip_suffix(".pack").map(str::to_owned));
    Ok(packs.filter(|name| ObjectId::parse(name).is_some()).collect())
}
