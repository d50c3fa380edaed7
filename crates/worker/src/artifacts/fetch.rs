//! Writes the artifacts of needs to a workspace, before the step starts.

use std::path::Path;
use std::{fs, io};

use serde_json::Value;
use tokio::task::spawn_blocking;
use windlass_core::expand::GrantedWork;
use windlass_core::files::{FetchRule, FetchedArtifacts, merge_artifacts};
use windlass_core::manifest::{EntryKind, Manifest};
use windlass_core::object::ObjectId;
use windlass_store::objects::tree::materialize_tree;
use windlass_store::objects::{ObjectStore, read_manifest};

use super::object_access::ObjectAccess;

/// What happens to a file that is in the workspace already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFiles {
    /// It stays: the workspace is a folder of the user, in which the step that made the artifact ran.
    Stay,
    /// The artifact takes its place: the workspace was made for the attempt.
    AreReplaced,
}

/// Writes the artifacts that a step gets below `root`. An error says why the step cannot start.
pub async fn fetch_artifacts(
    objects: &ObjectAccess,
    granted: GrantedWork<'_>,
    root: &Path,
    existing: ExistingFiles,
) -> Result<(), String> {
    let sources = sources(granted);
    if sources.is_empty() {
        return Ok(());
    }
    let store = objects.store()?;
    let mut fetched = Vec::with_capacity(sources.len());
    for (step, folder, id) in sources {
        let manifest = manifest(&*store, &step, id).await?;
        fetched.push(FetchedArtifacts { step, folder, manifest });
    }
    let merged = merge_artifacts(&fetched).map_err(|error| error.to_string())?;
    let owned = root.to_owned();
    let listed = spawn_blocking(move || files_to_write(&merged, &owned, existing)).await;
    let listed = listed.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
    let files = listed.map_err(|error| {
        format!("the artifacts cannot be written to {}: {error}", root.display())
    })?;
    materialize_tree(&*store, &files, root, None)
        .await
        .map_err(|error| format!("the artifacts cannot be written: {error}"))
}

async fn manifest(store: &dyn ObjectStore, step: &str, id: ObjectId) -> Result<Manifest, String> {
    let unavailable =
        |error: String| format!("the artifacts of `{step}` are not available: {error}");
    let read = read_manifest(store, id).await.map_err(|error| unavailable(error.to_string()))?;
    read.map_err(|error| unavailable(error.to_string()))
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

/// Returns the entries that are not in the workspace yet. Files that are replaced are removed.
fn files_to_write(merged: &Manifest, root: &Path, existing: ExistingFiles) -> io::Result<Manifest> {
    let mut entries = Vec::new();
    for entry in merged.entries() {
        let path = root.join(entry.path.as_str());
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let is_folder = entry.kind == EntryKind::Folder;
        match found {
            Some(found) if is_folder && found.is_dir() => {}
            Some(_) if !is_folder && existing == ExistingFiles::Stay => continue,
            Some(found) if !is_folder && !found.is_dir() => fs::remove_file(&path)?,
            Some(_) | None => {}
        }
        entries.push(entry.clone());
    }
    Manifest::from_entries(entries).map_err(|error| io::Error::other(error.to_string()))
}
