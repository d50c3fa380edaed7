//! The selected entries of a folder, whose files are not read yet.

use std::path::Path;

use windlass_core::manifest::{EntryKind, ManifestEntry, ManifestError, ManifestPath};
use windlass_core::object::ObjectId;

use super::folder_handle::{FolderHandle, join};
use super::listing::{FoundEntry, FoundKind};
use super::selection::TreeSelection;
use super::stat_cache::FileStamp;
use super::tree_error::TreeError;
use super::walk::{FoundFolders, walk};

/// The placeholder of an object that is not known yet.
const UNKNOWN: ObjectId = ObjectId::new([0; ObjectId::BYTES]);

/// The selected entries of a folder, whose files are not read yet: a caller can refuse a tree that is too large.
#[derive(Debug)]
pub struct FoundTree {
    pub(super) root: FolderHandle,
    /// In the order of a manifest.
    pub(super) entries: Vec<ManifestEntry>,
    /// The files among them: place and stamp.
    pub(super) files: Vec<(usize, FileStamp)>,
}

/// Finds the selected entries of a folder.
pub fn find_tree(folder: &Path, selection: TreeSelection<'_>) -> Result<FoundTree, TreeError> {
    let root = FolderHandle::open_root(folder)?;
    let found = walk(&root, selection)?;
    let mut tree = FoundTree { root, entries: Vec::new(), files: Vec::new() };
    tree.add_folder("", &found)?;
    Ok(tree)
}

impl FoundTree {
    /// Returns the paths of all entries.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.path.as_str())
    }

    /// Returns the path and the present size of each file.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files.iter().map(|(at, stamp)| (self.entries[*at].path.as_str(), stamp.size))
    }

    /// Adds the content of a folder. The depth of folders is bounded by the walk.
    fn add_folder(&mut self, folder: &str, found: &FoundFolders) -> Result<(), TreeError> {
        for entry in found.get(folder).into_iter().flatten() {
            let text = join(folder, &entry.name);
            if !is_in_manifest(&text, entry, found) {
                continue;
            }
            let path = ManifestPath::parse(&text)
                .map_err(|problem| ManifestError::Path { path: text.clone(), problem })?;
            let kind = match &entry.kind {
                FoundKind::Folder { .. } => EntryKind::Folder,
                FoundKind::Symlink { target } => EntryKind::Symlink { target: (&**target).into() },
                FoundKind::File { executable, stamp } => {
                    self.files.push((self.entries.len(), *stamp));
                    let (executable, size) = (*executable, stamp.size);
                    EntryKind::File { executable, size, object: UNKNOWN }
                }
            };
            let is_folder = kind == EntryKind::Folder;
            self.entries.push(ManifestEntry { path, kind });
            if is_folder {
                self.add_folder(&text, found)?;
            }
        }
        Ok(())
    }
}

/// Whether an entry, or something in it, is selected by itself. Each search ends at the first one.
fn is_in_manifest(path: &str, entry: &FoundEntry, found: &FoundFolders) -> bool {
    let FoundKind::Folder { choice } = &entry.kind else { return true };
    let is_in = |inner: &FoundEntry| is_in_manifest(&join(path, &inner.name), inner, found);
    choice.takes_itself() || found.get(path).is_some_and(|entries| entries.iter().any(is_in))
}
