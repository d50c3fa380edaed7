//! Writes files to a folder that other steps and the user have open too. A file appears under its name when it is whole, and a
//! file that has the right content already is not touched.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_core::manifest::{EntryKind, Manifest, ManifestEntry};
use windlass_core::object::ObjectId;

/// A folder for files that are not whole yet, below the folder that gets them. It is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct StagingFolder(PathBuf);

impl StagingFolder {
    /// Names the folder of an attempt. It is made when files are written to it.
    pub(super) fn of_attempt(root: &Path, fence: u64) -> Self {
        Self(root.join(format!(".windlass-fetch-{fence}")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Returns the entries that a folder does not have with this content.
pub(super) fn differing(manifest: &Manifest, root: &Path) -> io::Result<Manifest> {
    let mut entries = Vec::new();
    for entry in manifest.entries() {
        if entry.kind == EntryKind::Folder || !has(root, entry)? {
            entries.push(entry.clone());
        }
    }
    Manifest::from_entries(entries).map_err(|error| io::Error::other(error.to_string()))
}

/// Moves whole files from their staging folder to their places, where they replace other files.
pub(super) fn move_into_place(
    staged: &StagingFolder,
    manifest: &Manifest,
    root: &Path,
) -> io::Result<()> {
    for entry in manifest.entries() {
        let target = root.join(entry.path.as_str());
        match entry.kind {
            EntryKind::Folder => fs::create_dir_all(&target)?,
            EntryKind::File { .. } | EntryKind::Symlink { .. } => {
                fs::rename(staged.path().join(entry.path.as_str()), &target)?;
            }
        }
    }
    Ok(())
}

/// Removes the files that others take the place of, in a folder that nothing else uses.
pub(super) fn make_room(manifest: &Manifest, root: &Path) -> io::Result<()> {
    for entry in manifest.entries().iter().filter(|entry| entry.kind != EntryKind::Folder) {
        match fs::remove_file(root.join(entry.path.as_str())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Whether a folder has an entry with this content.
fn has(root: &Path, entry: &ManifestEntry) -> io::Result<bool> {
    let path = root.join(entry.path.as_str());
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    match &entry.kind {
        EntryKind::Folder => Ok(found.is_dir()),
        EntryKind::Symlink { target } => {
            Ok(found.is_symlink() && fs::read_link(&path)?.to_str() == Some(target))
        }
        EntryKind::File { executable, size, object } => {
            let is_executable = found.permissions().mode() & 0o100 != 0;
            let seems_equal =
                found.is_file() && found.len() == *size && is_executable == *executable;
            Ok(seems_equal && object_of(&path)? == *object)
        }
    }
}

fn object_of(path: &Path) -> io::Result<ObjectId> {
    let mut file = fs::File::open(path)?;
    let (mut hasher, mut block) = (blake3::Hasher::new(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(ObjectId::new(*hasher.finalize().as_bytes())),
            length => hasher.update(&block[..length]),
        };
    }
}
