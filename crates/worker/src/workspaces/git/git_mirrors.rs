//! The mirrors of a worker: one for each address, in `git/KEY`.
//!
//! `KEY.lock` is held by each attempt that uses the mirror, and alone by a process that removes or tidies it. `KEY.fetch` is
//! held by the process that fetches.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use windlass_core::files::GitAddress;
use windlass_core::object::ObjectId;
use windlass_net::files::durable_folder;

use super::git_command::GitCommand;
use super::mirror_files::{self, MirrorFiles, ObjectFormat};
use crate::workspaces::file_lock::{FileLock, LockMode, blocking, entries};
use crate::workspaces::folder_removal::{move_to_trash, remove_tree};
use crate::workspaces::workspace_error::WorkspaceError;
use crate::workspaces::workspace_settings::GitSettings;

/// The digits of a hash that name a mirror.
const KEY_DIGITS: usize = 32;

/// The mirrors of a worker. Several processes can use them.
#[derive(Debug)]
pub(in crate::workspaces) struct GitMirrors {
    folder: PathBuf,
    pub(super) settings: GitSettings,
}

/// The use of a mirror. While it lasts, the mirror is not removed.
#[derive(Debug)]
pub(in crate::workspaces) struct MirrorUse {
    pub(super) files: MirrorFiles,
    /// Held, not read.
    _lock: FileLock,
    /// Taken by the process that fetches.
    pub(super) fetch_lock: PathBuf,
    /// Whether this use has made the mirror, which is then not damaged.
    pub(super) is_new: bool,
}

/// Which mirrors a sweep removes.
#[derive(Clone, Copy, Debug)]
pub(in crate::workspaces) struct MirrorSweep {
    /// Mirrors that were last used before are removed.
    pub(in crate::workspaces) unused_since: SystemTime,
    /// The number of the others that stay.
    pub(in crate::workspaces) max: usize,
}

impl GitMirrors {
    /// Opens the mirrors below a state directory.
    pub(in crate::workspaces) fn open(
        state: &Path,
        settings: GitSettings,
    ) -> Result<Self, WorkspaceError> {
        let folder = state.join("git");
        let made = durable_folder::create_durably(&folder).and_then(|()| folder.canonicalize());
        let folder = made.map_err(|error| WorkspaceError::system("create", &folder, error))?;
        Ok(Self { folder, settings })
    }

    /// Begins to use the mirror of an address, which is made if there is none.
    pub(super) async fn use_mirror(
        &self,
        address: &GitAddress,
        format: ObjectFormat,
    ) -> Result<MirrorUse, WorkspaceError> {
        let hash = ObjectId::of(format!("{format:?} {address}").as_bytes()).to_string();
        let root = self.folder.join(&hash[..KEY_DIGITS]);
        let (lock_file, fetch_lock) = (root.with_extension("lock"), root.with_extension("fetch"));
        let (idle_root, idle_lock) = (root.clone(), lock_file.clone());
        blocking(move || reset_if_idle(&idle_root, &idle_lock)).await?;
        let within = self.settings.fetch_within;
        let lock = FileLock::take(&lock_file, LockMode::Shared, within).await?;
        lock.touch();
        let failed = |error| WorkspaceError::system("open the mirror", &root, error);
        let found = |root: PathBuf| blocking(move || MirrorFiles::find(&root));
        if let Some(files) = found(root.clone()).await.map_err(failed)? {
            return Ok(MirrorUse { files, _lock: lock, fetch_lock, is_new: false });
        }
        let fetching = FileLock::take(&fetch_lock, LockMode::Alone, within).await?;
        let made_root = root.clone();
        let made = blocking(move || {
            let _held = fetching;
            match MirrorFiles::find(&made_root)? {
                Some(files) => Ok((files, false)),
                None => MirrorFiles::create(&made_root, format).map(|files| (files, true)),
            }
        });
        let (files, is_new) = made.await.map_err(failed)?;
        Ok(MirrorUse { files, _lock: lock, fetch_lock, is_new })
    }

    /// Removes mirrors that are unused or too many, and tidies the others. A mirror in use is left alone.
    pub(in crate::workspaces) async fn sweep(
        &self,
        sweep: MirrorSweep,
    ) -> Result<(), WorkspaceError> {
        let folder = self.folder.clone();
        let failed = |error| WorkspaceError::system("sweep the mirrors in", &self.folder, error);
        let mirrors = blocking(move || by_last_use(&folder)).await.map_err(failed)?;
        let mut result = Ok(());
        for (rank, (used, lock)) in mirrors.into_iter().enumerate() {
            let expired = rank >= sweep.max || used < sweep.unused_since;
            let swept = self.sweep_mirror(lock, expired).await;
            result = result.and(swept);
        }
        result
    }

    async fn sweep_mirror(&self, lock_file: PathBuf, expired: bool) -> Result<(), WorkspaceError> {
        let trash = self.folder.join(".trash");
        let root = lock_file.with_extension("");
        let swept = blocking(move || -> Result<_, WorkspaceError> {
            let Some(lock) = FileLock::try_take(&lock_file, LockMode::Alone)? else {
                return Ok(None);
            };
            let failed = |error| WorkspaceError::system("sweep the mirror", &root, error);
            if expired {
                remove_mirror(&root, &trash, &lock_file).map_err(failed)?;
                return Ok(None);
            }
            let crowded = tidy(&root, &trash).map_err(failed)?;
            Ok(crowded.map(|files| (files, lock)))
        });
        let Some((files, lock)) = swept.await? else { return Ok(()) };
        self.repack(&files, &lock).await
    }

    /// Packs the objects of a mirror anew. Kept worktrees can have objects without a ref, so that recent ones stay.
    async fn repack(&self, files: &MirrorFiles, lock: &FileLock) -> Result<(), WorkspaceError> {
        let held = lock.share();
        let held = held
            .map_err(|error| WorkspaceError::system("share the lock of", &files.fetch(), error))?;
        let (program, within) = (&self.settings.program, self.settings.checkout_within);
        let action = format!("repack the mirror {}", files.fetch().display());
        let gc = GitCommand::new(program, &files.fetch(), action, within).holding(held);
        gc.args(["--git-dir=.", "gc", "--quiet", "--prune=2.days.ago"]).run().await?;
        Ok(())
    }
}

/// Tidies a mirror that no attempt uses, so that the next one finds no settings, hooks and branches of former steps.
fn reset_if_idle(root: &Path, lock_file: &Path) -> Result<(), WorkspaceError> {
    let Some(_lock) = FileLock::try_take(lock_file, LockMode::Alone)? else { return Ok(()) };
    let failed = |error| WorkspaceError::system("reset the mirror", root, error);
    let Some(files) = MirrorFiles::find(root).map_err(failed)? else { return Ok(()) };
    if files.reset().is_err() {
        return files.mark_damaged().map_err(failed);
    }
    Ok(())
}

/// Returns the mirror if its objects are in many packs.
fn tidy(root: &Path, trash: &Path) -> io::Result<Option<MirrorFiles>> {
    mirror_files::remove_damaged(root, trash)?;
    let Some(files) = MirrorFiles::find(root)? else { return Ok(None) };
    files.reset()?;
    files.forget_commits()?;
    Ok(files.has_many_packs()?.then_some(files))
}

/// The lock is removed last, while it is held: a process that waits for it takes a new one.
fn remove_mirror(root: &Path, trash: &Path, lock_file: &Path) -> io::Result<()> {
    move_to_trash(root, trash)?.map_or(Ok(()), |moved| remove_tree(&moved))?;
    entries(trash)?.iter().try_for_each(|tree| remove_tree(tree))?;
    drop(fs::remove_file(root.with_extension("fetch")));
    fs::remove_file(lock_file)
}

/// Returns the locks of all mirrors with the times of their last use, the latest first.
fn by_last_use(folder: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.extension().is_some_and(|it| it == "lock") {
            found.push((path.metadata()?.modified()?, path));
        }
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(found)
}
