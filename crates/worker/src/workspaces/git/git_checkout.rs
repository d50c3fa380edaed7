//! From a mirror to the files of an attempt: a worktree with a detached commit.

use std::io;
use std::path::{Path, PathBuf};

use windlass_core::files::git_address::check_commit;
use windlass_core::files::{GitAddress, GitWorkspace};
use windlass_core::manifest::ManifestPath;
use windlass_net::files::private_files;

use super::git_command::GitCommand;
use super::git_environment::{GitCredentials, RemoteAccess};
use super::git_mirrors::{GitMirrors, MirrorUse};
use super::mirror_files::ObjectFormat;
use crate::workspaces::file_lock::{FileLock, blocking};
use crate::workspaces::folder_removal::{move_to_trash, remove_tree};
use crate::workspaces::workspace_error::WorkspaceError;

/// Characters with a meaning in patterns of a sparse checkout, or in its arguments.
const PATTERN_CHARACTERS: &[char] = &['*', '?', '[', ']', '\\', '!', '#', '"'];

/// A worktree of an attempt. It holds the mirror until it is dropped.
#[derive(Debug)]
pub(in crate::workspaces) struct Worktree {
    mirror: MirrorUse,
    /// The part of the worktree that is in the mirror.
    metadata: PathBuf,
}

/// A checkout of a commit.
#[derive(Debug)]
pub(in crate::workspaces) struct GitCheckout<'a> {
    mirrors: &'a GitMirrors,
    source: &'a GitWorkspace,
    pub(super) remote: RemoteAccess,
    pub(super) folder: &'a Path,
    /// The lock of this process: while a command of git holds it, no other process removes the folder.
    owner: &'a FileLock,
}

impl Worktree {
    /// Removes the part that is in the mirror, before the folder is removed. `git worktree remove` is not used: it fails for
    /// folders that a step has made unreadable, and other commands of git fail when they read what it is removing. It blocks.
    pub(in crate::workspaces) fn remove(&self) -> io::Result<()> {
        let trash = self.mirror.files.trash();
        move_to_trash(&self.metadata, &trash)?.map_or(Ok(()), |moved| remove_tree(&moved))
    }
}

impl<'a> GitCheckout<'a> {
    /// Checks the source, and takes an empty folder that was made for it.
    pub(in crate::workspaces) fn new(
        mirrors: &'a GitMirrors,
        source: &'a GitWorkspace,
        credentials: Option<GitCredentials>,
        (folder, owner): (&'a Path, &'a FileLock),
    ) -> Result<Self, WorkspaceError> {
        let remote = RemoteAccess { address: GitAddress::parse(&source.url)?, credentials };
        check_commit(&source.commit)?;
        for path in &source.paths {
            let is_plain = ManifestPath::parse(path).is_ok() && !path.starts_with('-');
            if !is_plain || path.contains(PATTERN_CHARACTERS) {
                return Err(WorkspaceError::SparsePath(path.clone()));
            }
        }
        Ok(Self { mirrors, source, remote, folder, owner })
    }

    /// Writes the files of the commit. A damaged mirror is made anew once.
    pub(in crate::workspaces) async fn run(&self) -> Result<Worktree, WorkspaceError> {
        let format = ObjectFormat::of_commit(&self.source.commit);
        let mirror = self.mirrors.use_mirror(&self.remote.address, format).await?;
        let failure = match self.write_from(&mirror).await {
            Err(WorkspaceError::Git(failure)) if failure.is_damage() && !mirror.is_new => failure,
            written => {
                let metadata = written?;
                return Ok(Worktree { mirror, metadata });
            }
        };
        let (files, folder) = (mirror.files.clone(), self.folder.to_owned());
        drop(mirror);
        let emptied = blocking(move || {
            files.mark_damaged()?;
            remove_tree(&folder)?;
            private_files::create_folder(&folder)
        });
        emptied.await.map_err(|error| WorkspaceError::system("replace", self.folder, error))?;
        let mirror = self.mirrors.use_mirror(&self.remote.address, format).await?;
        // The first failure explains why the mirror was made anew, but the second one is what must be solved.
        let written = self.write_from(&mirror).await;
        let metadata = written.map_err(|error| match error {
            WorkspaceError::Git(mut second) if second.message.is_empty() => {
                second.message = failure.message;
                WorkspaceError::Git(second)
            }
            error => error,
        })?;
        Ok(Worktree { mirror, metadata })
    }

    /// Returns the part of the worktree that is in the mirror.
    async fn write_from(&self, mirror: &MirrorUse) -> Result<PathBuf, WorkspaceError> {
        let commit = &self.source.commit;
        self.mirrors.fetch_commit(mirror, &self.remote, commit).await?;
        let (files, folder, head) = (mirror.files.clone(), self.folder.to_owned(), commit.clone());
        let added = blocking(move || files.add_worktree(&folder, &head)).await;
        let metadata = added
            .map_err(|error| WorkspaceError::system("add a worktree in", self.folder, error))?;
        if !self.source.paths.is_empty() {
            let set = self.command()?.args(["sparse-checkout", "set", "--cone"]);
            set.args(&self.source.paths).run().await?;
        }
        self.command()?.args(["reset", "--hard", "--quiet"]).run().await?;
        if self.source.submodules {
            self.update_submodules().await?;
        }
        Ok(metadata)
    }

    /// A command that writes into the folder, or reads it.
    pub(super) fn command(&self) -> Result<GitCommand, WorkspaceError> {
        let settings = &self.mirrors.settings;
        let held = self.owner.share();
        let held =
            held.map_err(|error| WorkspaceError::system("share the lock of", self.folder, error))?;
        let action = format!("check out {} of {}", self.source.commit, self.source.url);
        Ok(GitCommand::new(&settings.program, self.folder, action, settings.checkout_within)
            .holding(held))
    }
}
