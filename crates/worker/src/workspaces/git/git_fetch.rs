//! From a commit to its objects in a mirror.

use super::git_command::GitCommand;
use super::git_environment::RemoteAccess;
use super::git_mirrors::{GitMirrors, MirrorUse};
use crate::workspaces::file_lock::{FileLock, LockMode, blocking};
use crate::workspaces::workspace_error::WorkspaceError;

/// A fetch of one commit, under the lock of fetches.
struct CommitFetch<'a> {
    mirrors: &'a GitMirrors,
    mirror: &'a MirrorUse,
    remote: &'a RemoteAccess,
    lock: &'a FileLock,
    commit: &'a str,
}

impl GitMirrors {
    /// Fetches a commit unless the mirror has it. A ref in `refs/windlass` keeps it, whatever happens to its branch.
    pub(super) async fn fetch_commit(
        &self,
        mirror: &MirrorUse,
        remote: &RemoteAccess,
        commit: &str,
    ) -> Result<(), WorkspaceError> {
        if !has_commit(mirror, commit).await {
            let within = self.settings.fetch_within;
            let lock = FileLock::take(&mirror.fetch_lock, LockMode::Alone, within).await?;
            // Another attempt may have fetched it meanwhile.
            if !has_commit(mirror, commit).await {
                let fetch = CommitFetch { mirrors: self, mirror, remote, lock: &lock, commit };
                fetch.run().await?;
            }
        }
        let (files, commit) = (mirror.files.clone(), commit.to_owned());
        blocking(move || files.touch_commit(&commit)).await;
        Ok(())
    }
}

async fn has_commit(mirror: &MirrorUse, commit: &str) -> bool {
    let (files, commit) = (mirror.files.clone(), commit.to_owned());
    blocking(move || files.has_commit(&commit)).await
}

impl CommitFetch<'_> {
    async fn run(&self) -> Result<(), WorkspaceError> {
        let files = self.mirror.files.clone();
        let removed = blocking(move || files.remove_stale_locks()).await;
        let fetch = self.mirror.files.fetch();
        removed.map_err(|error| WorkspaceError::system("remove old locks from", &fetch, error))?;
        if self.is_reachable().await? {
            return self.keep().await;
        }
        let by_hash =
            self.fetch("--no-prune", &[&format!("+{0}:refs/windlass/{0}", self.commit)]).await;
        match by_hash {
            Err(WorkspaceError::Git(failure)) if failure.is_refusal() => self.fetch_all().await,
            fetched => fetched,
        }
    }

    /// For a server that sends only what its refs reach.
    async fn fetch_all(&self) -> Result<(), WorkspaceError> {
        // Without `--prune` a branch `a` that was removed would not leave room for a branch `a/b`.
        let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        self.fetch("--prune", &all).await?;
        if self.is_reachable().await? {
            return self.keep().await;
        }
        let (url, commit) = (self.remote.address.to_string(), self.commit.to_owned());
        Err(WorkspaceError::NoCommit { url, commit })
    }

    async fn fetch(&self, prune: &str, refspecs: &[&str]) -> Result<(), WorkspaceError> {
        let action = format!("fetch {}", self.remote.address);
        let fetch = self.command(action)?.with_remote(self.remote).args([
            "fetch",
            "--quiet",
            "--force",
            prune,
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--end-of-options",
            self.remote.address.as_str(),
        ]);
        fetch.args(refspecs).run().await?;
        Ok(())
    }

    /// Whether a ref reaches the commit, so that it is there with all of its files.
    async fn is_reachable(&self) -> Result<bool, WorkspaceError> {
        let search = self.command(format!("search the mirror for {}", self.commit))?;
        let refs =
            search.args(["for-each-ref", "--count=1", "--contains", self.commit]).run().await;
        // It fails if the mirror does not have the commit.
        Ok(refs.is_ok_and(|refs| !refs.is_empty()))
    }

    async fn keep(&self) -> Result<(), WorkspaceError> {
        let name = format!("refs/windlass/{}", self.commit);
        let keep = self.command(format!("keep {}", self.commit))?;
        keep.args(["update-ref", "--end-of-options", &name, self.commit]).run().await?;
        Ok(())
    }

    fn command(&self, action: String) -> Result<GitCommand, WorkspaceError> {
        let (fetch, settings) = (self.mirror.files.fetch(), &self.mirrors.settings);
        let held = self.lock.share();
        let held =
            held.map_err(|error| WorkspaceError::system("share the lock of", &fetch, error))?;
        let command = GitCommand::new(&settings.program, &fetch, action, settings.fetch_within);
        Ok(command.args(["--git-dir=."]).holding(held))
    }
}
