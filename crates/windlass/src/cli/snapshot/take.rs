//! Takes a snapshot: finds the files, captures them, and sends them to a store.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use windlass_core::manifest::{EntryKind, Manifest};
use windlass_core::object::ObjectId;
use windlass_core::time::Time;
use windlass_store::objects::ObjectStore;
use windlass_store::objects::tree::{SentTree, StatCache, TreeSelection, find_tree, send_tree};

use super::args::SnapshotMode;
use super::cache_file::{cache_file, save_cache};
use super::git_program::GitProgram;
use super::project_files::{ProjectFileSearch, ProjectFiles};
use super::size_limit::size_problem;
use super::snapshot_error::SnapshotError;
use crate::cli::environment;
use crate::cli::output::{print_message, size_text};
use crate::cli::render::count;
use crate::embedded::system_now;

/// After this time a message says what takes so long.
const SLOW: Duration = Duration::from_secs(1);

/// How often a snapshot is begun, if files are written meanwhile.
const TRIES: usize = 2;

/// The project to take a snapshot of.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotRequest {
    /// The folder of the project.
    pub(crate) root: PathBuf,
    /// The files to take.
    pub(crate) mode: SnapshotMode,
    /// The git program: `git`, or its path.
    pub(crate) git: PathBuf,
    /// The folder of windlass in the user's cache folder, for projects without `.windlass`.
    pub(crate) user_cache: Option<PathBuf>,
    /// The time of this machine.
    pub(crate) now: Time,
}

impl SnapshotRequest {
    /// The request of this user now.
    pub(crate) fn of_project(root: PathBuf, mode: SnapshotMode) -> Self {
        let user_cache = environment::cache_folder();
        Self { root, mode, git: "git".into(), user_cache, now: system_now() }
    }
}

/// A snapshot that a store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The object of its manifest.
    pub(crate) manifest: ObjectId,
    /// The number of its files.
    pub(crate) files: usize,
    /// Their size.
    pub(crate) bytes: u64,
    /// The size of those that the store did not have.
    pub(crate) sent_bytes: u64,
    /// Untracked files that look like secrets, and are not in it.
    pub(crate) left_out: Vec<String>,
    /// What the user should know about its files.
    pub(crate) notes: Vec<String>,
    /// The commit of the project, with `-dirty` if files differ from it.
    pub(crate) revision: Option<String>,
}

impl Snapshot {
    /// Returns the messages about it for the user.
    pub(crate) fn messages(&self) -> Vec<String> {
        let mut messages = self.notes.clone();
        if !self.left_out.is_empty() {
            messages.push(format!(
                "not in the snapshot, because they look like secrets: {}; send them with --snapshot=all",
                self.left_out.join(", ")
            ));
        }
        messages
    }
}

/// The captured files of a project.
#[derive(Debug)]
struct CapturedProject {
    files: ProjectFiles,
    manifest: Manifest,
}

/// Takes a snapshot of a project and sends it to a store. The caller names the manifest where a sweep sees it.
pub(crate) async fn take_snapshot(
    request: &SnapshotRequest,
    store: &dyn ObjectStore,
) -> Result<Snapshot, SnapshotError> {
    let mut tries = 1;
    loop {
        match try_to_take(request, store).await {
            Err(error) if error.is_change() && tries < TRIES => tries += 1,
            taken => return taken,
        }
    }
}

async fn try_to_take(
    request: &SnapshotRequest,
    store: &dyn ObjectStore,
) -> Result<Snapshot, SnapshotError> {
    let owned = request.clone();
    let captured = tokio::task::spawn_blocking(move || capture_project(&owned));
    let reading = format!("reading the files of {}", request.root.display());
    let captured = with_message(captured, reading).await;
    let CapturedProject { files, manifest } = captured.expect("a capture does not panic")?;
    let is_file = |kind: &EntryKind| matches!(kind, EntryKind::File { .. });
    let number = manifest.entries().iter().filter(|entry| is_file(&entry.kind)).count();
    let bytes = manifest.bytes();
    let sending = format!("sending {} of {}", count(number, "file", "files"), size_text(bytes));
    let sent = with_message(send_tree(store, &request.root, &manifest), sending).await?;
    let SentTree { manifest, bytes: sent_bytes, .. } = sent;
    let ProjectFiles { left_out, notes, revision, .. } = files;
    Ok(Snapshot { manifest, files: number, bytes, sent_bytes, left_out, notes, revision })
}

fn capture_project(request: &SnapshotRequest) -> Result<CapturedProject, SnapshotError> {
    let SnapshotRequest { root, mode, git, user_cache, now } = request;
    let git = GitProgram { program: git.clone() };
    let files = ProjectFileSearch { root, mode: *mode, git: &git }.find()?;
    let found = find_tree(root, TreeSelection::Listed(&files.paths))?;
    if let Some(problem) = size_problem(&found.files().collect::<Vec<_>>()) {
        return Err(SnapshotError::TooLarge(problem));
    }
    let place = cache_file(root, user_cache.as_deref());
    let cache = place.as_deref().map(StatCache::load).unwrap_or_default();
    let captured = found.capture(&cache, *now)?;
    if let Some(place) = place.filter(|_| captured.cache != cache) {
        save_cache(&captured.cache, &place);
    }
    Ok(CapturedProject { files, manifest: captured.manifest })
}

/// Waits, and says in one line what is done if it takes long.
async fn with_message<T>(work: impl Future<Output = T>, message: String) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(SLOW, work.as_mut()).await {
        return done;
    }
    print_message(&format!("windlass: {message} …"));
    work.await
}
