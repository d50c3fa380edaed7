//! Captures and stores the artifacts of an attempt, when its processes are gone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use windlass_core::expand::GrantedWork;
use windlass_core::expr::ExprScope;
use windlass_core::files::{ArtifactRule, MissingArtifacts, PathPatterns};
use windlass_core::manifest::{EntryKind, Manifest};
use windlass_core::object::ObjectId;
use windlass_core::time::Time;
use windlass_store::objects::tree::{StatCache, TreeSelection, capture_selected, send_tree};

use super::object_access::ObjectAccess;

/// How long storing the artifacts of one attempt may take, beyond the timeout of the step.
const STORED_WITHIN: Duration = Duration::from_mins(15);

/// The artifacts of an attempt that is about to start.
#[derive(Clone, Debug)]
pub struct ArtifactKeeper {
    objects: ObjectAccess,
    rule: ArtifactRule,
    patterns: PathPatterns,
    /// The patterns as the user reads them.
    shown: String,
    root: PathBuf,
}

/// Stored artifacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptArtifacts {
    /// The object of the manifest.
    pub manifest: ObjectId,
    /// The number of files.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
}

impl ArtifactKeeper {
    /// Prepares to keep the artifacts of a step; `None` if it hands on no files. An error says which pattern is invalid.
    pub fn new(
        objects: &ObjectAccess,
        (granted, scope): (GrantedWork<'_>, &ExprScope),
        root: &Path,
    ) -> Result<Option<Self>, String> {
        let Some(rule) = granted.work.artifacts.clone() else { return Ok(None) };
        let render = |path: &windlass_core::expr::Template| {
            path.render(scope).map_err(|error| format!("`artifacts`: {error}"))
        };
        let paths = rule.paths.iter().map(render).collect::<Result<Vec<String>, String>>()?;
        let patterns =
            PathPatterns::parse(&paths).map_err(|error| format!("`artifacts`: {error}"))?;
        let (objects, root, shown) = (objects.clone(), root.to_owned(), paths.join(", "));
        Ok(Some(Self { objects, rule, patterns, shown, root }))
    }

    /// Stores the files of an attempt that ended like this. Returns `None` if there is nothing to keep, and an error if the
    /// attempt fails because of its artifacts.
    pub async fn keep(&self, succeeded: bool) -> Result<Option<KeptArtifacts>, String> {
        if !self.rule.when.includes(succeeded) {
            return Ok(None);
        }
        match timeout(STORED_WITHIN, self.capture_and_send()).await {
            Ok(Ok(Some(kept))) => Ok(Some(kept)),
            Ok(Ok(None)) if self.rule.missing == MissingArtifacts::Fail && succeeded => {
                Err(format!(
                    "no file matches the artifacts {}: set `missing: ignore` if that is no mistake",
                    self.shown
                ))
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(format!("its artifacts could not be stored: {error}")),
            Err(_) => Err(format!(
                "its artifacts could not be stored within {} minutes",
                STORED_WITHIN.as_secs() / 60
            )),
        }
    }

    async fn capture_and_send(&self) -> Result<Option<KeptArtifacts>, String> {
        let (root, patterns) = (self.root.clone(), self.patterns.clone());
        let capture = move || {
            let selection = TreeSelection::Patterns(&patterns);
            // The time matters only for a later capture with the cache, which is not kept.
            capture_selected(&root, selection, &StatCache::default(), Time::ZERO)
        };
        let captured = spawn_blocking(capture).await.map_err(|error| error.to_string())?;
        let manifest = captured.map_err(|error| error.to_string())?.manifest;
        let files = file_count(&manifest);
        if files == 0 {
            return Ok(None);
        }
        let store = self.objects.store()?;
        let sent = send_tree(&*store, &self.root, &manifest).await;
        let sent = sent.map_err(|error| error.to_string())?;
        Ok(Some(KeptArtifacts { manifest: sent.manifest, files, bytes: manifest.bytes() }))
    }
}

fn file_count(manifest: &Manifest) -> usize {
    manifest.entries().iter().filter(|entry| entry.kind != EntryKind::Folder).count()
}
