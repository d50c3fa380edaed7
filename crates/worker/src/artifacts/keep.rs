//! Captures and stores the artifacts of an attempt, when its processes are gone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use windlass_core::expand::GrantedWork;
use windlass_core::expr::ExprScope;
use windlass_core::files::{ArtifactRule, FILES_WITHIN, MissingArtifacts, PathPatterns};
use windlass_core::manifest::{EntryKind, Manifest};
use windlass_core::object::ObjectId;
use windlass_core::time::Time;
use windlass_store::objects::tree::{FoundTree, StatCache, TreeSelection, find_tree, send_tree};

use super::object_access::ObjectAccess;

/// How long storing the artifacts of one attempt may take, beyond the timeout of the step.
const STORED_WITHIN: Duration = Duration::from_millis(FILES_WITHIN.as_millis());

/// The artifacts of one step.
const FILES_MAX: usize = 100_000;
const BYTES_MAX: u64 = 10 << 30;

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
            let found = find_tree(&root, selection).map_err(|error| error.to_string())?;
            check_size(&found)?;
            let captured = found.capture(&StatCache::default(), Time::ZERO);
            captured.map(|captured| captured.manifest).map_err(|error| error.to_string())
        };
        let captured = spawn_blocking(capture).await.map_err(|error| error.to_string())?;
        let manifest = captured?;
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

/// Refuses artifacts that are too large, before a file is read.
fn check_size(found: &FoundTree) -> Result<(), String> {
    let (mut files, mut bytes, mut largest) = (0, 0_u64, ("", 0));
    for (path, size) in found.files() {
        files += 1;
        bytes = bytes.saturating_add(size);
        largest = if size > largest.1 { (path, size) } else { largest };
    }
    if files <= FILES_MAX && bytes <= BYTES_MAX {
        return Ok(());
    }
    let (path, size) = largest;
    Err(format!(
        "{files} files of {bytes} bytes are too many: at most {FILES_MAX} files of {BYTES_MAX} bytes together; the largest is \
         {path} with {size} bytes; leave files out with `!PATTERN`"
    ))
}

fn file_count(manifest: &Manifest) -> usize {
    manifest.entries().iter().filter(|entry| entry.kind != EntryKind::Folder).count()
}
