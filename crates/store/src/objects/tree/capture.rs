//! Captures a folder as a manifest.

use std::path::Path;

use windlass_core::manifest::{EntryKind, Manifest, ManifestEntry};
use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::found_tree::{FoundTree, find_tree};
use super::hashing::{HashedFile, hash_files};
use super::selection::TreeSelection;
use super::stat_cache::{KnownFile, StatCache};
use super::tree_error::TreeError;

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

/// Captures everything in a folder. Files that are in the cache unchanged are not read. `now` is the time of this machine.
///
/// The capture is not a snapshot: a file that changes while it is read is an error, but two files can be from different
/// moments.
pub fn capture_tree(
    folder: &Path,
    cache: &StatCache,
    now: Time,
) -> Result<CapturedTree, TreeError> {
    capture_selected(folder, TreeSelection::All, cache, now)
}

/// Captures the selected files of a folder, as [`capture_tree`]. A name that no manifest has, a device, or a link that leads
/// out of the folder is an error only if it is selected.
pub fn capture_selected(
    folder: &Path,
    selection: TreeSelection<'_>,
    cache: &StatCache,
    now: Time,
) -> Result<CapturedTree, TreeError> {
    find_tree(folder, selection)?.capture(cache, now)
}

impl FoundTree {
    /// Captures the files that were found, as [`capture_tree`].
    pub fn capture(mut self, cache: &StatCache, now: Time) -> Result<CapturedTree, TreeError> {
        let hashed = self.hash(cache)?;
        self.conclude(now, hashed)
    }

    /// Finds the objects of all files, and returns the number of files that were read.
    fn hash(&mut self, cache: &StatCache) -> Result<usize, TreeError> {
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
        let hashes = hash_files(&self.root, &unknown)?;
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
