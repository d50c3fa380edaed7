//! Repositories and workspaces for the tests.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::files::{GitWorkspace, WorkspaceSource};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::session::LeaseRef;
use windlass_core::time::Time;
use windlass_store::objects::MemoryObjects;

use crate::workspaces::{Workspace, WorkspaceError, WorkspaceSettings, Workspaces};

pub(super) fn lease(step: u32, fence: u64) -> LeaseRef {
    LeaseRef { fence: Fence(fence), run: RunId(7), step: StepIx(step), attempt: 1 }
}

pub(super) fn objects() -> MemoryObjects {
    MemoryObjects::with_capacity(1 << 30, || Time::ZERO)
}

/// Settings that do not depend on the disk of the machine.
pub(super) fn settings(state: &Path) -> WorkspaceSettings {
    let mut settings = WorkspaceSettings::new(state.to_owned(), Arc::new(objects()));
    settings.limits.min_free = Some(0);
    settings
}

/// A state directory with its workspaces, and a repository.
pub(super) struct TestPlace {
    pub(super) home: TempDir,
    pub(super) workspaces: Workspaces,
    pub(super) origin: Origin,
}

impl TestPlace {
    pub(super) async fn new() -> Self {
        Self::with(|_, _| {}).await
    }

    pub(super) async fn with(change: impl FnOnce(&mut WorkspaceSettings, &Path)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut settings = settings(&home.path().join("state 状態"));
        change(&mut settings, home.path());
        let origin = Origin::new(&home.path().join("origin größe"));
        let workspaces = Workspaces::open(settings).await.unwrap();
        Self { home, workspaces, origin }
    }

    /// A place whose git is a script, see [`GitWrapper`].
    pub(super) async fn with_git(script: &str) -> (Self, GitWrapper) {
        let mut wrapper = None;
        let place = Self::with(|settings, home| {
            let made = GitWrapper::new(home, script);
            settings.git.program = made.program();
            wrapper = Some(made);
        })
        .await;
        (place, wrapper.unwrap())
    }

    pub(super) fn state(&self) -> PathBuf {
        self.home.path().join("state 状態")
    }

    pub(super) async fn check_out(
        &self,
        fence: u64,
        commit: &str,
    ) -> Result<Workspace, WorkspaceError> {
        let source = WorkspaceSource::Git(self.origin.source(commit));
        self.workspaces.prepare(&source, &lease(1, fence), None).await
    }

    /// Returns the only entry of a folder below `git/KEY`, which is the only mirror.
    pub(super) fn mirror(&self, number: u32) -> PathBuf {
        let mut mirrors = entries(&self.state().join("git"));
        mirrors.retain(|path| path.is_dir() && !path.ends_with(".trash"));
        assert_eq!(mirrors.len(), 1, "{mirrors:?}");
        mirrors[0].join(number.to_string())
    }

    /// Returns the folders of attempts that are there.
    pub(super) fn attempts(&self) -> Vec<String> {
        let run = self.state().join("ws").join(RunId(7).to_string());
        let mut names: Vec<String> = entries(&run)
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }
}

pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// A repository that is fetched from.
#[derive(Clone, Debug)]
pub(super) struct Origin(pub(super) PathBuf);

impl Origin {
    pub(super) fn new(folder: &Path) -> Self {
        Self::with_format(folder, "sha1")
    }

    pub(super) fn with_format(folder: &Path, format: &str) -> Self {
        fs::create_dir_all(folder).unwrap();
        let origin = Self(folder.to_owned());
        origin.git(&[
            "init",
            "--quiet",
            "--initial-branch=main",
            &format!("--object-format={format}"),
        ]);
        origin
    }

    /// Writes files, commits them, and returns the commit.
    pub(super) fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, text) in files {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(&["add", "--all", "."]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.head()
    }

    pub(super) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the repository.
    pub(super) fn git(&self, args: &[&str]) -> String {
        git(&self.0, args)
    }

    pub(super) fn url(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }

    pub(super) fn source(&self, commit: &str) -> GitWorkspace {
        GitWorkspace {
            url: self.url(),
            commit: commit.to_owned(),
            paths: Vec::new(),
            submodules: false,
        }
    }
}

/// Runs git in a folder, and returns its output.
pub(super) fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for config in
        ["user.name=a", "user.email=a@a.example", "gc.auto=0", "protocol.file.allow=always"]
    {
        command.args(["-c", config]);
    }
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A program in place of git, which a test directs by files beside it.
pub(super) struct GitWrapper(PathBuf);

impl GitWrapper {
    /// Creates the program. `script` is run by the shell before git, with `$here` as the folder for files and `$real` as git.
    pub(super) fn new(home: &Path, script: &str) -> Self {
        let folder = home.join("wrapper");
        fs::create_dir_all(&folder).unwrap();
        let (here, program) = (folder.display(), folder.join("git"));
        let text =
            format!("#!/bin/sh\nhere='{here}'\nreal=/usr/bin/git\n{script}\nexec $real \"$@\"\n");
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        Self(folder)
    }

    pub(super) fn program(&self) -> PathBuf {
        self.0.join("git")
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }

    pub(super) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

/// The text of a file in the folder of an attempt.
pub(super) fn read(workspace: &Workspace, path: &str) -> String {
    fs::read_to_string(workspace.path().unwrap().join(path)).unwrap()
}
