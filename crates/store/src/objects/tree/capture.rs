//! Captures a folder as a manifest.

use std::path::Path;

use windlass_core::manifest::{EntryKind, Manifest, ManifestEntry, ManifestError, ManifestPath};
use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::folder_handle::{FolderHandle, FoundKind, join};
use super::hashing::{HashedFile, hash_files};
use super::stat_cache::{FileStamp, KnownFile, StatCache};
use super::tree_error::TreeError;
use super::walk::{FoundFolders, walk};

/// A captured folder.
#[derive(Debug)]
pub struct CapturedTree {
    /// Its content.
    pub manifest: Manifest,
    /// The objects of its files, for the next capture.
    pub cache: StatCache,
    /// The number of files that were read because the cache did not have them.
    pub hashed: usize,
}

/// The placeholder of an object that is not known yet.
const UNKNOWN: ObjectId = ObjectId::new([0; ObjectId::BYTES]);

/// Captures a folder. Files that are in the cache unchanged are not read. `now` is the time of this machine.
///
/// The capture is not a snapshot: a file that changes while it is read is an error, but two files can be from different
/// moments.
pub fn capture_tree(
    folder: &Path,
    cache: &StatCache,
    now: Time,
) -> Result<CapturedTree, TreeError> {
    let root = FolderHandle::open_root(folder)?;
    let found = walk(&root)?;
    let mut list = EntryList::default();
    list.add_folder("", &found)?;
    let hashed = list.hash(&root, cache)?;
    list.conclude(now, hashed)
}

/// The entries in order, and the stamps of the files among them.
#[derive(Debug, Default)]
struct EntryList {
    entries: Vec<ManifestEntry>,
    files: Vec<(usize, FileStamp)>,
}

impl EntryList {
    /// Adds the content of a folder. The depth of folders is bounded by the walk.
    fn add_folder(&mut self, folder: &str, found: &FoundFolders) -> Result<(), TreeError> {
        for entry in found.get(folder).into_iter().flatten() {
            let text = join(folder, &entry.name);
            let path = ManifestPath::parse(&text)
                .map_err(|problem| ManifestError::Path { path: text.clone(), problem })?;
            let kind = match &entry.kind {
                FoundKind::Folder => EntryKind::Folder,
                FoundKind::Symlink { target } => EntryKind::Symlink { target: (&**target).into() },
                FoundKind::File { executable, stamp } => {
                    self.files.push((self.entries.len(), *stamp));
                    let (executable, size) = (*executable, stamp.size);
                    EntryKind::File { executable, size, object: UNKNOWN }
                }
            };
            self.entries.push(ManifestEntry { path, kind });
            if entry.kind == FoundKind::Folder {
                self.add_folder(&text, found)?;
            }
        }
        Ok(())
    }

    /// Finds the objects of all files, and returns the number of files that were read.
    fn hash(&mut self, root: &FolderHandle, cache: &StatCache) -> Result<usize, TreeError> {
        let mut cursor = cache.cursor();
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for (at, (entry, stamp)) in self.files.iter().enumerate() {
            let path = &self.entries[*entry].path;
            match cursor.find(path.as_str(), stamp) {
                Some(object) => known.push((*entry, object)),
                None => unknown.push(HashedFile {
                    folder: path.folder().unwrap_or_default(),
                    name: path.name(),
                    path: path.as_str(),
                    index: at,
                }),
            }
        }
        let hashes = hash_files(root, &unknown)?;
        for (entry, object) in known {
            self.set_object(entry, object, None);
        }
        for hash in &hashes {
            let (entry, stamp) = &mut self.files[hash.index];
            *stamp = hash.stamp;
            let entry = *entry;
            self.set_object(entry, hash.object, Some(hash.stamp.size));
        }
        Ok(hashes.len())
    }

    fn set_object(&mut self, entry: usize, found: ObjectId, read: Option<u64>) {
        if let EntryKind::File { object, size, .. } = &mut self.entries[entry].kind {
            *object = found;
            *size = read.unwrap_or(*size);
        }
    }

    fn conclude(self, now: Time, hashed: usize) -> Result<CapturedTree, TreeError> {
        let settled = self.files.iter().filter(|(_, stamp)| stamp.is_settled(now));
        let known = settled.filter_map(|(entry, stamp)| {
            let ManifestEntry { path, kind } = &self.entries[*entry];
            let EntryKind::File { object, .. } = kind else { return None };
            Some(KnownFile { path: path.as_str().into(), stamp: *stamp, object: *object })
        });
        let cache = StatCache(known.collect());
        Ok(CapturedTree { manifest: Manifest::from_sorted(self.entries)?, cache, hashed })
    }
}
