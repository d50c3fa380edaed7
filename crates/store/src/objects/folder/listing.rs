//! The list of all objects.

use std::collections::BTreeMap;
use std::{fs, io};

use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::layout::{self, touched};
use super::object_file::read_size;
use super::store::ObjectFolder;
use crate::objects::interface::{ObjectError, StoredObject};

impl ObjectFolder {
    /// See [`ObjectStore::list`](crate::objects::ObjectStore::list).
    pub(super) fn list(
        &self,
        after: Option<ObjectId>,
        limit: usize,
    ) -> Result<Vec<StoredObject>, ObjectError> {
        let listed = self.list_packed(after, limit).and_then(|mut objects| {
            objects.extend(self.list_files(after, limit)?);
            Ok(objects)
        });
        let mut objects = listed.map_err(|error| self.failed(&error))?;
        objects.sort_unstable_by_key(|object| object.id);
        objects.dedup_by_key(|object| object.id);
        objects.truncate(limit);
        Ok(objects)
    }

    fn list_packed(&self, after: Option<ObjectId>, limit: usize) -> io::Result<Vec<StoredObject>> {
        let index = self.refreshed()?;
        let mut times: BTreeMap<&str, Time> = BTreeMap::new();
        let mut objects = Vec::new();
        for (id, pack, size) in index.after(after).take(limit) {
            let time = match times.get(pack) {
                Some(time) => *time,
                // A pack that vanishes at this moment was touched, or its objects are removed anyway.
                None => fs::metadata(self.layout.pack(pack)).map_or(Time::ZERO, |it| touched(&it)),
            };
            times.insert(pack, time);
            objects.push(StoredObject { id, size: size.into(), touched: time });
        }
        Ok(objects)
    }

    fn list_files(&self, after: Option<ObjectId>, limit: usize) -> io::Result<Vec<StoredObject>> {
        let mut objects = Vec::new();
        let first = after.map_or_else(String::new, |id| id.to_string()[..2].to_owned());
        for folder in layout::names(&self.layout.files())? {
            if folder < first || objects.len() >= limit {
                continue;
            }
            let names = layout::names(&self.layout.files().join(&folder))?;
            let ids = names.iter().filter_map(|name| ObjectId::parse(name));
            for id in ids.filter(|id| after.is_none_or(|after| *id > after)) {
                objects.extend(self.stat_file(id)?);
            }
        }
        Ok(objects)
    }

    /// Returns a large object; `None` if it was removed meanwhile. An unreadable size is 0: reading finds the damage.
    fn stat_file(&self, id: ObjectId) -> io::Result<Option<StoredObject>> {
        let path = self.layout.file(id);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            metadata => {
                let touched = touched(&metadata?);
                Ok(Some(StoredObject { id, size: read_size(&path).unwrap_or(0), touched }))
            }
        }
    }
}
