//! Damaged objects are set aside: they become missing, so that they are stored again.

use std::path::{Path, PathBuf};
use std::{fs, io};

use windlass_core::object::ObjectId;

use super::frame::is_damage;
use super::layout::ObjectLayout;
use super::object_file::ObjectFile;
use super::pack_file::{PackEntry, PackReader, read_index};
use super::pack_writer::write_pack;
use super::store::ObjectFolder;
use crate::objects::interface::{BLOCK, ObjectError};

/// The file in which an object is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DamagedFile {
    /// The file of a large object.
    Object,
    /// A pack of this name.
    Pack(String),
}

impl ObjectFolder {
    /// Sets the object aside and returns the error for its reader. If that fails, for instance on a read-only disk, the object
    /// stays and each reader finds the damage.
    pub(super) fn corrupt(&self, id: ObjectId, file: &DamagedFile, reason: String) -> ObjectError {
        let path = match file {
            DamagedFile::Object => self.layout.file(id),
            DamagedFile::Pack(name) => self.layout.pack(name),
        };
        let set_aside = match file {
            DamagedFile::Object => self.set_aside_object(id, &path),
            DamagedFile::Pack(name) => self.set_aside_pack(name, &path),
        };
        let outcome = set_aside.err().map(|error| format!(" (it could not be moved: {error})"));
        let reason = reason + &outcome.unwrap_or_default();
        ObjectError::Corrupt { id, place: path.display().to_string(), reason }
    }

    /// Moves the file of a large object away if a second look finds it damaged too: the first one may have been a fault of the
    /// memory or of a cable.
    fn set_aside_object(&self, id: ObjectId, path: &Path) -> io::Result<()> {
        let lock = self.layout.lock_for_removal()?;
        self.files.close(id);
        if is_whole(path, id)? {
            return Ok(());
        }
        fs::rename(path, damaged_path(&self.layout, path))?;
        drop(lock);
        Ok(())
    }

    /// Writes the sound objects of a pack to a new one, and moves the pack away.
    fn set_aside_pack(&self, name: &str, path: &Path) -> io::Result<()> {
        let lock = self.layout.lock_for_removal()?;
        let entries = read_index(path)?;
        let sound = read_sound(path, &entries)?;
        if sound.len() < entries.len() {
            rewrite(&self.layout, &sound)?;
            fs::rename(self.layout.pack(name), damaged_path(&self.layout, path))?;
        }
        drop(self.refreshed()?);
        drop(lock);
        Ok(())
    }
}

/// Reads those objects of a pack that match their hashes.
pub(super) fn read_sound(
    path: &Path,
    entries: &[PackEntry],
) -> io::Result<Vec<(ObjectId, Vec<u8>)>> {
    let mut reader = PackReader::open(path)?;
    let mut order: Vec<&PackEntry> = entries.iter().collect();
    order.sort_unstable_by_key(|entry| (entry.frame, entry.start));
    let mut sound = Vec::with_capacity(order.len());
    for entry in order {
        if let Ok(bytes) = reader.read(entry)? {
            sound.push((entry.id, bytes));
        }
    }
    Ok(sound)
}

/// Writes objects to a new pack, if there are any.
pub(super) fn rewrite(layout: &ObjectLayout, objects: &[(ObjectId, Vec<u8>)]) -> io::Result<()> {
    let objects: Vec<(ObjectId, &[u8])> =
        objects.iter().map(|(id, bytes)| (*id, &bytes[..])).collect();
    if objects.is_empty() { Ok(()) } else { write_pack(layout, &objects).map(drop) }
}

fn is_whole(path: &Path, id: ObjectId) -> io::Result<bool> {
    let read = || {
        let file = ObjectFile::open(path, id)?;
        (0..file.size()).step_by(BLOCK).try_for_each(|at| file.block_at(at).map(drop))
    };
    match read() {
        Ok(()) => Ok(true),
        Err(error) if is_damage(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged_path(layout: &ObjectLayout, path: &Path) -> PathBuf {
    layout.damaged().join(path.file_name().unwrap_or_default())
}
