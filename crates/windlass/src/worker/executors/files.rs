//! The files that a step writes for windlass: `$WINDLASS_OUTPUT` and `$WINDLASS_SUMMARY`.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_core::id::Fence;

use crate::worker::masks::Masks;
use crate::worker::outputs::read_bounded;

/// The most that is kept of a step's `$WINDLASS_SUMMARY`.
const SUMMARY_MAX: usize = 64 << 10;

/// Where an attempt writes, and what is kept of it. A step may make anything of its files: a folder, a pipe, a link.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) output: PathBuf,
    /// What the step wrote for people, as it wrote it.
    pub(super) draft: PathBuf,
    /// The same, bounded and covered.
    summary: PathBuf,
}

/// The ending of a file that stays.
const KEPT: &str = "summary";

impl Files {
    pub(super) fn new(scratch: &Path, fence: Fence) -> Self {
        let file = |kind: &str| scratch.join(format!("{fence}.{kind}"));
        Self { output: file("output"), draft: file("draft"), summary: file(KEPT) }
    }

    /// Keeps the summary, and nothing else: what a step writes may hold its secrets.
    pub(super) fn keep(&self, masks: &Masks) {
        if let Ok(text) = read_bounded(&self.draft, SUMMARY_MAX) {
            drop(fs::write(&self.summary, masks.cover(&String::from_utf8_lossy(&text))));
        }
        remove(&self.draft);
        remove(&self.output);
    }
}

/// Removes what steps of a windlass that was killed left behind.
pub fn clear(scratch: &Path) {
    let Ok(entries) = fs::read_dir(scratch) else { return };
    for file in entries.flatten().map(|entry| entry.path()) {
        if file.extension().is_none_or(|extension| extension != KEPT) {
            remove(&file);
        }
    }
}

fn remove(file: &Path) {
    if fs::remove_file(file).is_err() {
        drop(fs::remove_dir_all(file));
    }
}
