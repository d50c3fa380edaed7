//! A command of git.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::git_environment::{RemoteAccess, variables};
use super::git_failure::{GitFailure, GitFailureCause, last_lines};
use super::git_process;

/// A command of git. Each value that comes from a user follows `--end-of-options`.
#[derive(Debug)]
pub(super) struct GitCommand {
    program: PathBuf,
    args: Vec<OsString>,
    /// No repository above the folder is used if that in the folder is damaged.
    ceiling: PathBuf,
    action: String,
    within: Duration,
    remote: Option<RemoteAccess>,
    held: Option<File>,
}

impl GitCommand {
    /// Creates a command in a folder. `action` completes "git could not …".
    pub(super) fn new(program: &Path, folder: &Path, action: String, within: Duration) -> Self {
        let args = vec!["-C".into(), folder.into()];
        let ceiling = folder.parent().unwrap_or(folder).to_owned();
        Self {
            program: program.to_owned(),
            args,
            ceiling,
            action,
            within,
            remote: None,
            held: None,
        }
    }

    /// Adds arguments.
    pub(super) fn args<I>(mut self, args: impl IntoIterator<Item = I>) -> Self
    where
        I: Into<OsString>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Allows the command to reach a remote repository.
    pub(super) fn with_remote(mut self, remote: &RemoteAccess) -> Self {
        self.remote = Some(remote.clone());
        self
    }

    /// Has git hold the lock of this file until it has ended, even after the death of this process.
    pub(super) fn holding(mut self, lock: File) -> Self {
        self.held = Some(lock);
        self
    }

    /// Runs the command, and returns its output.
    pub(super) async fn run(self) -> Result<Vec<u8>, GitFailure> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(variables(self.remote.as_ref()));
        command.env("GIT_CEILING_DIRECTORIES", &self.ceiling);
        command.stdin(self.held.map_or_else(Stdio::null, Stdio::from));
        let credentials = self.remote.as_ref().and_then(|remote| remote.credentials.as_ref());
        let (cause, message) = match git_process::run(command, self.within).await {
            None => (GitFailureCause::Deadline(self.within), Vec::new()),
            Some(Err(error)) => (GitFailureCause::NotStarted(error.to_string()), Vec::new()),
            Some(Ok(ended)) if ended.status.success() => return Ok(ended.output),
            Some(Ok(ended)) => {
                let signal = ended.status.signal().map(GitFailureCause::Signal);
                let exit = || GitFailureCause::Exit(ended.status.code().unwrap_or_default());
                (signal.unwrap_or_else(exit), ended.message)
            }
        };
        let message = last_lines(&message, credentials);
        Err(GitFailure { action: self.action, cause, message })
    }
}
