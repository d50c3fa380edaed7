//! The folder of the last entry: entries come in the order of a manifest, so the next one is mostly in the same folder.

use super::folder_handle::FolderHandle;
use super::tree_error::TreeError;

/// Opens folders below a root, and keeps the last one open.
#[derive(Debug)]
pub(super) struct FolderCursor<'a> {
    root: &'a FolderHandle,
    last: Option<(String, FolderHandle)>,
}

impl<'a> FolderCursor<'a> {
    pub(super) fn new(root: &'a FolderHandle) -> Self {
        Self { root, last: None }
    }

    /// Returns the folder with this path; the empty path is the root.
    pub(super) fn at(&mut self, path: &str) -> Result<&FolderHandle, TreeError> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            self.last = Some((path.to_owned(), self.root.open_below(path)?));
        }
        let (_, folder) = self.last.as_ref().expect("it was opened");
        Ok(folder)
    }
}
