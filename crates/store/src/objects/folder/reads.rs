//! Ranges of objects.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::object::ObjectId;

use super::frame::is_damage;
use super::object_file::ObjectFile;
use super::set_aside::DamagedFile;
use super::store::ObjectFolder;
use crate::objects::interface::{BLOCK, ObjectError, ObjectPart};
use crate::objects::memory::part_of;

/// Maximum large objects that stay open: their tables have been read and compared with their ids. The largest has 2.6 MB.
const OPEN_MAX: usize = 16;

/// The large objects that are open for reading.
#[derive(Debug, Default)]
pub(super) struct OpenObjectFiles(Mutex<Vec<(ObjectId, Arc<ObjectFile>)>>);

impl OpenObjectFiles {
    fn get(
        &self,
        id: ObjectId,
        open: impl FnOnce() -> io::Result<ObjectFile>,
    ) -> io::Result<Arc<ObjectFile>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, file)) = files.iter().find(|(known, _)| *known == id) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(open()?);
        if files.len() == OPEN_MAX {
            files.remove(0);
        }
        files.push((id, Arc::clone(&file)));
        Ok(file)
    }

    pub(super) fn close(&self, id: ObjectId) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|(known, _)| *known != id);
    }
}

impl ObjectFolder {
    /// See [`ObjectStore::read`](crate::objects::ObjectStore::read).
    pub(super) fn read(&self, id: ObjectId, range: &Range<u64>) -> Result<ObjectPart, ObjectError> {
        let path = self.layout.file(id);
        let is_packed = self.index().contains(id);
        if !is_packed {
            let read = self.files.get(id, || ObjectFile::open(&path, id));
            match read.and_then(|file| read_range(&file, range)) {
                Ok(part) => return Ok(part),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if is_damage(&error) => {
                    return Err(self.corrupt(id, &DamagedFile::Object, error.to_string()));
                }
                Err(error) => return Err(self.failed(&error)),
            }
        }
        let all = self.get_batch(&[id])?.pop().unwrap_or_default();
        Ok(part_of(&all, range))
    }
}

fn read_range(file: &ObjectFile, range: &Range<u64>) -> io::Result<ObjectPart> {
    let size = file.size();
    let (from, to) = (range.start.min(size), range.end.min(size));
    if from >= to {
        return Ok(ObjectPart { bytes: Vec::new(), size });
    }
    let mut bytes = file.block_at(from)?;
    let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(BLOCK);
    let start = from - from % BLOCK as u64;
    bytes.truncate(within(to - start));
    bytes.drain(..within(from - start));
    Ok(ObjectPart { bytes, size })
}
