//! Writes the artifacts of needs to a workspace, before the step starts.

use std::io;
use std::path::Path;

use serde_json::Value;
use tokio::task::spawn_blocking;
use windlass_core::expand::GrantedWork;
use windlass_core::files::{FetchRule, FetchedArtifacts, merge_artifacts};
use windlass_core::manifest::Manifest;
use windlass_core::object::ObjectId;
use windlass_store::objects::tree::materialize_tree;
use windlass_store::objects::{ObjectStore, read_manifest};

use super::attempt_files_error::AttemptFilesError;
use super::object_access::ObjectAccess;
use super::write_files::{StagingFolder, differing, make_room, move_into_place};

/// Files and folders that one step gets. A wide fan-in of large artifacts would take all memory.
const FETCHED_ENTRIES_MAX: usize = 250_000;

/// The folder that gets artifacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactTarget<'a> {
    /// A folder that was made for the attempt.
    OfAttempt(&'a Path),
    /// A folder that other steps and the user use too.
    Shared(&'a Path),
}

/// Writes the artifacts that a step gets.
pub async fn fetch_artifacts(
    objects: &ObjectAccess,
    granted: GrantedWork<'_>,
    target: ArtifactTarget<'_>,
) -> Result<(), AttemptFilesError> {
    let sources = sources(granted);
    if sources.is_empty() {
        return Ok(());
    }
    let store = objects.store().map_err(AttemptFilesError::Refused)?;
    let (mut fetched, mut entries) = (Vec::with_capacity(sources.len()), 0);
    for (step, folder, id) in sources {
        let manifest = manifest(&*store, &step, id).await?;
        entries += manifest.entries().len();
        if entries > FETCHED_ENTRIES_MAX {
            let why = format!(
                "the step would get more than {FETCHED_ENTRIES_MAX} files: name the steps whose files it needs in `fetch`"
            );
            return Err(AttemptFilesError::Refused(why));
        }
        fetched.push(FetchedArtifacts { step, folder, manifest });
    }
    let merged = merge_artifacts(&fetched);
    let merged = merged.map_err(|error| AttemptFilesError::Refused(error.to_string()))?;
    let fence = granted.grant.lease.fence.count();
    let written = match target {
        ArtifactTarget::OfAttempt(root) => write_to_own_folder(&*store, merged, root).await,
        ArtifactTarget::Shared(root) => {
            write_to_shared_folder(&*store, merged, (root, fence)).await
        }
    };
    written.map_err(|why| {
        AttemptFilesError::Unavailable(format!("the artifacts cannot be written: {why}"))
    })
}

async fn write_to_own_folder(
    store: &dyn ObjectStore,
    merged: Manifest,
    root: &Path,
) -> Result<(), String> {
    let owned = root.to_owned();
    let merged = blocking(move || make_room(&merged, &owned).map(|()| merged)).await?;
    materialize_tree(store, &merged, root, None).await.map_err(|error| error.to_string())
}

async fn write_to_shared_folder(
    store: &dyn ObjectStore,
    merged: Manifest,
    (root, fence): (&Path, u64),
) -> Result<(), String> {
    let owned = root.to_owned();
    let files = blocking(move || differing(&merged, &owned)).await?;
    let staged = StagingFolder::of_attempt(root, fence);
    let written = materialize_tree(store, &files, staged.path(), None).await;
    written.map_err(|error| error.to_string())?;
    let owned = root.to_owned();
    blocking(move || move_into_place(&staged, &files, &owned)).await
}

/// Runs work on files on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let done =
        spawn_blocking(work).await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
    done.map_err(|error| error.to_string())
}

async fn manifest(
    store: &dyn ObjectStore,
    step: &str,
    id: ObjectId,
) -> Result<Manifest, AttemptFilesError> {
    let why = |error: String| format!("the artifacts of `{step}` are not available: {error}");
    let read = read_manifest(store, id).await;
    let read = read.map_err(|error| AttemptFilesError::Unavailable(why(error.to_string())))?;
    read.map_err(|error| AttemptFilesError::Refused(why(error.to_string())))
}

/// Returns the manifests that the step gets: the name of the step or cell, the folder, and the object.
fn sources(granted: GrantedWork<'_>) -> Vec<(String, String, ObjectId)> {
    let rules = &granted.work.fetch;
    let Some(values) = granted.grant.values.as_deref().filter(|_| !rules.is_empty()) else {
        return Vec::new();
    };
    let Ok(values) = serde_json::from_str::<Value>(values) else { return Vec::new() };
    rules.iter().flat_map(|rule| sources_of(rule, &values["steps"][&rule.step])).collect()
}

/// Returns the manifests of one step: its own, or those of its cells.
fn sources_of(rule: &FetchRule, entry: &Value) -> Vec<(String, String, ObjectId)> {
    let source = |name: &str, entry: &Value| {
        let id = ObjectId::parse(entry["artifacts"].as_str()?)?;
        Some((name.to_owned(), rule.folder_for(name), id))
    };
    let cells = entry["outputs"].as_array().into_iter().flatten();
    let cells = cells.filter_map(|cell| source(cell["cell"].as_str()?, cell));
    source(&rule.step, entry).into_iter().chain(cells).collect()
}
