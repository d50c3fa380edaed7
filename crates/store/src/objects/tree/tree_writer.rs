//! Writes entries below a folder.

use std::fs::{File, FileTimes};
use std::io::{self, ErrorKind, Write as _};
use std::time::{Duration, UNIX_EPOCH};

use windlass_core::manifest::ManifestPath;
use windlass_core::time::Time;

use super::folder_cursor::FolderCursor;
use super::folder_handle::FolderHandle;
use super::tree_error::TreeError;

/// Writes entries below a folder.
#[derive(Debug)]
pub(super) struct TreeWriter<'a> {
    folders: FolderCursor<'a>,
    modified: Option<Time>,
}

impl<'a> TreeWriter<'a> {
    /// Files get this time of the last modification, or the present one.
    pub(super) fn new(root: &'a FolderHandle, modified: Option<Time>) -> Self {
        Self { folders: FolderCursor::new(root), modified }
    }

    /// Creates a folder, whose parent is there. An existing folder is no error; a link or a file is.
    pub(super) fn create_folder(&mut self, path: &ManifestPath) -> Result<(), TreeError> {
        let folder = self.folder_of(path)?;
        let created = folder.create_folder(path.name());
        created.map_err(|error| TreeError::system("create", path.as_str(), error))?;
        folder.open_folder(path.name(), path.as_str()).map(drop)
    }

    /// Creates a symbolic link.
    pub(super) fn create_symlink(
        &mut self,
        path: &ManifestPath,
        target: &str,
    ) -> Result<(), TreeError> {
        let created = self.folder_of(path)?.create_symlink(path.name(), target);
        created.map_err(|error| creation_error(path, error))
    }

    /// Creates an empty file.
    pub(super) fn create_file(
        &mut self,
        path: &ManifestPath,
        executable: bool,
    ) -> Result<File, TreeError> {
        let created = self.folder_of(path)?.create_file(path.name(), executable);
        created.map_err(|error| creation_error(path, error))
    }

    /// Creates a file with these bytes.
    pub(super) fn write_file(
        &mut self,
        path: &ManifestPath,
        executable: bool,
        bytes: &[u8],
    ) -> Result<(), TreeError> {
        let mut file = self.create_file(path, executable)?;
        file.write_all(bytes).map_err(|error| TreeError::system("write", path.as_str(), error))?;
        self.end_file(path, &file)
    }

    /// Sets the time of a written file.
    pub(super) fn end_file(&self, path: &ManifestPath, file: &File) -> Result<(), TreeError> {
        let Some(modified) = self.modified else { return Ok(()) };
        let at = UNIX_EPOCH + Duration::from_millis(modified.as_millis());
        let set = file.set_times(FileTimes::new().set_modified(at));
        set.map_err(|error| TreeError::system("set the time of", path.as_str(), error))
    }

    fn folder_of(&mut self, path: &ManifestPath) -> Result<&FolderHandle, TreeError> {
        self.folders.at(path.folder().unwrap_or_default())
    }
}

fn creation_error(path: &ManifestPath, error: io::Error) -> TreeError {
    match error.kind() {
        ErrorKind::AlreadyExists => TreeError::Exists { path: path.to_string() },
        _ => TreeError::system("create", path.as_str(), error),
    }
}
