//! The files that a step writes for windlass: `$WINDLASS_OUTPUT` and `$WINDLASS_SUMMARY`.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_core::id::Fence;
use windlass_net::files::private_files;
use windlass_store::logs::NOTES_MAX;

use crate::masks::SecretMasks;
use crate::step_outputs::read_bounded;

/// The files of an attempt, and what is kept of them. A step may replace its files with a directory, a pipe or a link.
#[derive(Debug)]
pub(super) struct StepFiles {
    pub(super) output: PathBuf,
    /// The summary as the step wrote it.
    pub(super) draft: PathBuf,
    /// The same summary, bounded and masked.
    summary: PathBuf,
}

/// The extension of the files that are kept, and how many are kept.
const KEPT: &str = "summary";
const KEPT_FILES: usize = 1_000;

impl StepFiles {
    pub(super) fn new(scratch: &Path, fence: Fence) -> Self {
        let file = |kind: &str| scratch.join(format!("{fence}.{kind}"));
        Self { output: file("output"), draft: file("draft"), summary: file(KEPT) }
    }

    /// Keeps the masked summary and nothing else, because the other files may contain secrets. Returns what is kept.
    pub(super) fn keep(&self, masks: &SecretMasks) -> Option<String> {
        let written = read_bounded(&self.draft, NOTES_MAX).ok().filter(|text| !text.is_empty());
        let kept = written.map(|text| masks.cover(&String::from_utf8_lossy(&text)));
        if let Some(text) = &kept {
            drop(private_files::write(&self.summary, text));
        }
        remove(&self.draft);
        remove(&self.output);
        kept
    }
}

/// Returns the summary that a step wrote under this lease, if there is one.
pub fn summary(scratch: &Path, fence: Fence) -> Option<String> {
    let text = fs::read_to_string(StepFiles::new(scratch, fence).summary).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Removes what a killed windlass left behind, and the oldest of the kept summaries.
pub fn clear(scratch: &Path) {
    let Ok(entries) = fs::read_dir(scratch) else { return };
    let files = entries.flatten().map(|entry| entry.path());
    let (mut kept, other): (Vec<PathBuf>, Vec<PathBuf>) =
        files.partition(|file| file.extension().is_some_and(|extension| extension == KEPT));
    // Fences grow, and so do their names.
    kept.sort_by_key(|file| (file.as_os_str().len(), file.clone()));
    let surplus = kept.len().saturating_sub(KEPT_FILES);
    for file in other.iter().chain(&kept[..surplus]) {
        remove(file);
    }
}

/// Removes the file, whatever it is. Most steps write nothing, which the cheapest system call finds out.
fn remove(file: &Path) {
    if fs::symlink_metadata(file).is_ok() && fs::remove_file(file).is_err() {
        drop(fs::remove_dir_all(file));
    }
}
