//! All workspaces of one worker.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_core::files::{GitWorkspace, WorkspaceSource};
use windlass_core::object::ObjectId;
use windlass_core::session::LeaseRef;
use windlass_core::time::Time;
use windlass_store::objects::read_manifest;
use windlass_store::objects::tree::materialize_tree;

use super::attempt_folders::{AttemptFolders, FolderClaim};
use super::disk_room::DiskRoom;
use super::file_lock::blocking;
use super::git::{GitCheckout, GitCredentials, GitMirrors, MirrorSweep, Worktree};
use super::workspace::{Workspace, WorkspaceFolder};
use super::workspace_error::WorkspaceError;
use super::workspace_settings::WorkspaceSettings;

/// All workspaces of one worker. Copies share them. Other processes can use the same state directory.
#[derive(Clone, Debug)]
pub struct Workspaces {
    settings: Arc<WorkspaceSettings>,
    folders: Arc<AttemptFolders>,
    mirrors: Arc<GitMirrors>,
}

impl Workspaces {
    /// Opens the workspaces below a state directory, and removes the folders of processes that have ended.
    pub async fn open(settings: WorkspaceSettings) -> Result<Self, WorkspaceError> {
        let opened = blocking(move || -> Result<Self, WorkspaceError> {
            let folders = Arc::new(AttemptFolders::open(&settings.state)?);
            let mirrors = Arc::new(GitMirrors::open(&settings.state, settings.git.clone())?);
            Ok(Self { settings: Arc::new(settings), folders, mirrors })
        });
        let workspaces = opened.await?;
        workspaces.sweep_left_over().await;
        Ok(workspaces)
    }

    /// Removes the folders of processes that have ended, and of attempts that were given up. What cannot be removed, such as
    /// files of another user, stays for the next sweep: it must not keep other attempts from their folders.
    pub async fn sweep_left_over(&self) {
        let folders = Arc::clone(&self.folders);
        drop(blocking(move || folders.sweep(|_, _| false)).await);
    }

    /// Makes the folder of an attempt. `credentials` are those of the step for its repository. When the future is dropped,
    /// its commands of git are killed, and the next sweep removes the folder.
    pub async fn prepare(
        &self,
        source: &WorkspaceSource,
        lease: &LeaseRef,
        credentials: Option<GitCredentials>,
    ) -> Result<Workspace, WorkspaceError> {
        let folder = match source {
            WorkspaceSource::Here => WorkspaceFolder::Here,
            WorkspaceSource::Shared(path) => shared(path.clone()).await?,
            WorkspaceSource::None => {
                WorkspaceFolder::Made { claim: self.claim(lease).await?, worktree: None }
            }
            WorkspaceSource::Snapshot(manifest) => {
                let claim = self.claim(lease).await?;
                let written = self.write_snapshot(*manifest, &claim.path).await;
                self.made(claim, written.map(|()| None)).await?
            }
            WorkspaceSource::Git(git) => {
                let claim = self.claim(lease).await?;
                let written = self.check_out(git, &claim, credentials).await;
                self.made(claim, written.map(Some)).await?
            }
        };
        Ok(Workspace(folder))
    }

    /// Returns the space on the disk. A worker asks before it takes more work.
    pub async fn disk_room(&self) -> Result<DiskRoom, WorkspaceError> {
        let (root, min_free) = (self.folders.root.clone(), self.settings.limits.min_free);
        blocking(move || DiskRoom::read(&root, min_free)).await
    }

    /// Removes folders of processes that have ended, kept folders and mirrors beyond their limits, and what former removals
    /// have left. It does not hinder attempts. `now` is the time of the system.
    pub async fn sweep(&self, now: Time) -> Result<(), WorkspaceError> {
        let limits = &self.settings.limits;
        let (max, since) = (limits.kept_max, system_time(now - limits.kept_for));
        let folders = Arc::clone(&self.folders);
        let swept = blocking(move || folders.sweep(|rank, kept| rank >= max || kept < since)).await;
        let unused_since = system_time(now - limits.mirror_kept_for);
        let mirrors = self.mirrors.sweep(MirrorSweep { unused_since, max: limits.mirrors_max });
        swept.and(mirrors.await)
    }

    /// Makes an empty folder, if there is room on the disk.
    async fn claim(&self, lease: &LeaseRef) -> Result<FolderClaim, WorkspaceError> {
        if self.disk_room().await?.is_low() {
            self.make_room().await?;
        }
        let (folders, lease) = (Arc::clone(&self.folders), *lease);
        blocking(move || folders.claim(&lease)).await
    }

    /// Removes what can be made again: kept folders, then mirrors.
    async fn make_room(&self) -> Result<(), WorkspaceError> {
        let folders = Arc::clone(&self.folders);
        // What cannot be removed leaves the disk full, which is the error that counts.
        drop(blocking(move || folders.sweep(|_, _| true)).await);
        if self.disk_room().await?.is_low() {
            drop(self.mirrors.sweep(MirrorSweep { unused_since: UNIX_EPOCH, max: 0 }).await);
        }
        let room = self.disk_room().await?;
        if room.is_low() {
            return Err(WorkspaceError::DiskLow { folder: self.folders.root.clone(), room });
        }
        Ok(())
    }

    /// Removes the folder again if it could not be filled.
    async fn made(
        &self,
        claim: FolderClaim,
        written: Result<Option<Worktree>, WorkspaceError>,
    ) -> Result<WorkspaceFolder, WorkspaceError> {
        match written {
            Ok(worktree) => Ok(WorkspaceFolder::Made { claim, worktree }),
            Err(error) => {
                // If that fails too, the next sweep removes it.
                drop(Workspace(WorkspaceFolder::Made { claim, worktree: None }).remove().await);
                Err(error)
            }
        }
    }

    async fn write_snapshot(&self, id: ObjectId, folder: &Path) -> Result<(), WorkspaceError> {
        let objects = &*self.settings.objects;
        let read = read_manifest(objects, id).await;
        let manifest = read.map_err(|error| WorkspaceError::Manifest { manifest: id, error })?;
        let manifest =
            manifest.map_err(|error| WorkspaceError::NotAManifest { manifest: id, error })?;
        let written = materialize_tree(objects, &manifest, folder, None).await;
        written.map_err(|error| WorkspaceError::Tree { manifest: id, error })
    }

    async fn check_out(
        &self,
        git: &GitWorkspace,
        claim: &FolderClaim,
        credentials: Option<GitCredentials>,
    ) -> Result<Worktree, WorkspaceError> {
        let folder = (&*claim.path, &claim.folders.process.lock);
        // The state of all its commands is large.
        Box::pin(GitCheckout::new(&self.mirrors, git, credentials, folder)?.run()).await
    }
}

async fn shared(path: String) -> Result<WorkspaceFolder, WorkspaceError> {
    let path = std::path::PathBuf::from(path);
    let problem = |problem| Err(WorkspaceError::Shared { path: path.clone(), problem });
    if !path.is_absolute() {
        return problem("is not an absolute path");
    }
    let looked_at = path.clone();
    match blocking(move || looked_at.metadata()).await {
        Ok(found) if found.is_dir() => Ok(WorkspaceFolder::Shared(path)),
        Ok(_) => problem("is not a folder"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => problem("does not exist"),
        Err(error) => Err(WorkspaceError::system("read", &path, error)),
    }
}

fn system_time(time: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(time.as_millis())
}
