//! The files that git lists below a folder.

use std::fs;
use std::path::Path;

use windlass_core::manifest::DEPTH_MAX;
use windlass_store::objects::tree::TreeError;

use super::git_program::GitProgram;
use super::snapshot_error::SnapshotError;

/// The mode of a submodule in the index.
const SUBMODULE: &[u8] = b"160000";

/// The files that git lists below a folder, with paths relative to it.
#[derive(Debug)]
pub(super) struct GitFiles<'a> {
    git: &'a GitProgram,
    root: &'a Path,
    with_untracked: bool,
    pub(super) tracked: Vec<String>,
    pub(super) untracked: Vec<String>,
    /// What git could not read.
    pub(super) warnings: Vec<String>,
}

impl<'a> GitFiles<'a> {
    pub(super) fn new(git: &'a GitProgram, root: &'a Path, with_untracked: bool) -> Self {
        let (tracked, untracked, warnings) = Default::default();
        Self { git, root, with_untracked, tracked, untracked, warnings }
    }

    /// Adds the files of the repository that has this folder below the root, and of its submodules. The root is empty.
    pub(super) fn add_repository(&mut self, folder: &str) -> Result<(), SnapshotError> {
        let list = self.list(folder, &["ls-files", "-z", "--stage"])?;
        for record in records(&list) {
            // `MODE OBJECT STAGE<TAB>PATH`
            let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
            let Some(path) = self.path(folder, &record[tab + 1..])? else { continue };
            if record.starts_with(SUBMODULE) {
                self.add_nested(&path)?;
            }
            self.tracked.push(path);
        }
        if self.with_untracked {
            let list = self.list(folder, &["ls-files", "-z", "--others", "--exclude-standard"])?;
            self.add_untracked(folder, &list)?;
        }
        Ok(())
    }

    /// Adds the files that are not ignored, by the rules of this repository of another folder.
    pub(super) fn add_all_by(&mut self, repository: &Path) -> Result<(), SnapshotError> {
        let repository = format!("--git-dir={}", repository.display());
        let arguments =
            [&*repository, "--work-tree=.", "ls-files", "-z", "--others", "--exclude-standard"];
        let list = self.list("", &arguments)?;
        self.add_untracked("", &list)
    }

    fn add_untracked(&mut self, folder: &str, list: &[u8]) -> Result<(), SnapshotError> {
        for record in records(list) {
            // Git lists a nested repository as a folder, without its files.
            let (record, is_folder) = match record {
                [path @ .., b'/'] => (path, true),
                path => (path, false),
            };
            let Some(path) = self.path(folder, record)? else { continue };
            if is_folder {
                self.add_nested(&path)?;
            }
            self.untracked.push(path);
        }
        Ok(())
    }

    /// Adds the files of a submodule or nested repository, if it is there.
    fn add_nested(&mut self, path: &str) -> Result<(), SnapshotError> {
        let folder = self.root.join(path);
        let is_real = fs::symlink_metadata(&folder).is_ok_and(|it| it.is_dir());
        let is_repository = is_real && fs::symlink_metadata(folder.join(".git")).is_ok();
        let can_be_in_manifest = path.matches('/').count() < DEPTH_MAX;
        if is_repository && can_be_in_manifest { self.add_repository(path) } else { Ok(()) }
    }

    fn list(&mut self, folder: &str, arguments: &[&str]) -> Result<Vec<u8>, SnapshotError> {
        let output = self.git.read(&self.root.join(folder), arguments)?;
        self.warnings.extend(output.messages.lines().map(str::to_owned));
        Ok(output.bytes)
    }

    /// Returns the path below the root; `None` for one that is not UTF-8 and does not exist.
    fn path(&self, folder: &str, path: &[u8]) -> Result<Option<String>, SnapshotError> {
        let above = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        if let Ok(path) = str::from_utf8(path) {
            return Ok(Some(above + path));
        }
        if !exists(&self.root.join(folder), path) {
            return Ok(None);
        }
        let name = String::from_utf8_lossy(path).into_owned();
        Err(TreeError::NotUtf8 { folder: folder.to_owned(), name }.into())
    }
}

fn records(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

fn exists(folder: &Path, path: &[u8]) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    fs::symlink_metadata(folder.join(std::ffi::OsStr::from_bytes(path))).is_ok()
}
