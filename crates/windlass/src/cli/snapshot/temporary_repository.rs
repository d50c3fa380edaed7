//! An empty repository of git, which is removed when it is dropped: with it, git applies the `.gitignore` files of a folder
//! that is in no repository.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_net::files::private_files;
use windlass_net::random::random_hex;

use super::git_program::GitProgram;
use super::snapshot_error::SnapshotError;

#[derive(Debug)]
pub(super) struct TemporaryRepository(PathBuf);

impl TemporaryRepository {
    pub(super) fn create(git: &GitProgram) -> Result<Self, SnapshotError> {
        let folder = std::env::temp_dir().join(format!("windlass-snapshot-{}", random_hex()));
        let failed = |error| SnapshotError::Temporary { folder: folder.clone(), error };
        private_files::create_folder(&folder).map_err(failed)?;
        let repository = Self(folder);
        // Without a template it has no hooks and no ignored names of its own.
        let arguments = ["-c", "init.defaultBranch=main", "init", "-q", "--bare", "--template="];
        git.read(repository.folder(), &arguments)?;
        Ok(repository)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryRepository {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
