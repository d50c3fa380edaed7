//! Projects for the tests.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tempfile::TempDir;
use windlass_core::time::Time;
use windlass_store::objects::tree::materialize_tree;
use windlass_store::objects::{MemoryObjects, ObjectStore, read_manifest};

use crate::cli::snapshot::snapshot_error::SnapshotError;
use crate::cli::snapshot::take::Snapshot;
use crate::cli::snapshot::{SnapshotMode, SnapshotRequest, take_snapshot};

/// Later than every file, so that a cache remembers all of them.
const LATE: Time = Time::from_millis(10_000_000_000_000);

/// A file or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    Link(PathBuf),
    File { bytes: Vec<u8>, executable: bool },
}

/// A folder with a project, and a place for the user's cache.
#[derive(Debug)]
pub(super) struct SnapshotProject {
    home: TempDir,
}

impl SnapshotProject {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder can be created");
        fs::create_dir(home.path().join("project")).expect("there is room");
        Self { home }
    }

    /// A project in a new repository.
    pub(super) fn with_git() -> Self {
        let project = Self::new();
        git(&project.root(), &["init", "-q"]);
        project
    }

    pub(super) fn root(&self) -> PathBuf {
        self.home.path().join("project")
    }

    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("there is room");
        fs::write(path, bytes).expect("there is room");
    }

    pub(super) fn commit(&self, paths: &[&str]) {
        git(&self.root(), &[&["add", "-f", "--"], paths].concat());
        git(&self.root(), &["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    pub(super) fn request(&self, mode: SnapshotMode) -> SnapshotRequest {
        let user_cache = Some(self.home.path().join("cache"));
        SnapshotRequest { root: self.root(), mode, git: "git".into(), user_cache, now: LATE }
    }

    /// Takes a snapshot, and returns it with its files as another machine gets them.
    pub(super) fn snapshot(
        &self,
        mode: SnapshotMode,
    ) -> Result<(Snapshot, BTreeMap<String, FileState>), SnapshotError> {
        let store = store();
        let taken = taken(&self.request(mode), &store)?;
        let to = tempfile::tempdir().expect("a folder can be created");
        wait(async {
            let manifest = read_manifest(&store, taken.manifest).await.expect("it is stored");
            let manifest = manifest.expect("it is a manifest");
            materialize_tree(&store, &manifest, to.path(), None).await.expect("it can be written");
        });
        Ok((taken, files_in(to.path())))
    }

    /// The paths of a snapshot.
    pub(super) fn paths(&self, mode: SnapshotMode) -> Vec<String> {
        self.snapshot(mode).expect("the project is fine").1.into_keys().collect()
    }
}

pub(super) fn store() -> MemoryObjects {
    MemoryObjects::with_capacity(1 << 30, || Time::ZERO)
}

pub(super) fn taken(
    request: &SnapshotRequest,
    store: &dyn ObjectStore,
) -> Result<Snapshot, SnapshotError> {
    wait(take_snapshot(request, store))
}

pub(super) fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("threads can be started").block_on(work)
}

/// Runs git, which must succeed, without locks that only speed it up.
pub(super) fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let settings = ["user.name=A", "user.email=a@example.com", "commit.gpgsign=false"];
    let settings = settings.iter().flat_map(|setting| ["-c", setting]);
    let output = Command::new("git")
        .args(settings)
        .args(["-c", "advice.addEmbeddedRepo=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// All files and links below a folder, without what is in `.git`.
pub(super) fn files_in(root: &Path) -> BTreeMap<String, FileState> {
    let mut files = BTreeMap::new();
    for path in walk(root) {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let name = path.strip_prefix(root).expect("it is below").to_str().expect("it is text");
        if name.split('/').any(|name| name == ".git") || metadata.is_dir() {
            continue;
        }
        let state = if metadata.is_symlink() {
            FileState::Link(fs::read_link(&path).expect("it is a link"))
        } else {
            let executable = metadata.permissions().mode() & 0o100 != 0;
            FileState::File { bytes: fs::read(&path).expect("it is readable"), executable }
        };
        files.insert(name.to_owned(), state);
    }
    files
}

/// Bytes and times of everything below a folder but the state of windlass.
pub(super) fn everything_in(root: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let state = |path: PathBuf| {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let bytes = if metadata.is_file() { fs::read(&path).unwrap_or_default() } else { vec![] };
        (path, (metadata.modified().expect("it has a time"), bytes))
    };
    let is_of_user = |path: &PathBuf| !path.starts_with(root.join(".windlass"));
    walk(root).into_iter().filter(is_of_user).map(state).collect()
}

fn walk(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(root).expect("it is readable") {
        let path = entry.expect("it is readable").path();
        if fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}
