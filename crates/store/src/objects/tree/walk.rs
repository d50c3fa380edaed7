//! The selected entries of a folder and of the folders below it, in parallel.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use windlass_core::manifest::{DEPTH_MAX, ENTRIES_MAX, ManifestError, PathProblem};

use super::folder_handle::{FolderHandle, join};
use super::listing::{FolderListing, FoundEntry, FoundKind};
use super::selection::TreeSelection;
use super::tree_error::TreeError;

/// Maximum threads of a walk and of hashing.
const THREADS_MAX: usize = 8;

/// Returns the number of threads for work on many files.
pub(super) fn thread_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

/// The entries of each folder by its path; the root has the empty path.
pub(super) type FoundFolders = BTreeMap<String, Vec<FoundEntry>>;

#[derive(Debug)]
struct WalkState {
    waiting: Vec<String>,
    /// Folders that a thread lists at this moment.
    listed_now: usize,
    found: FoundFolders,
    entries: usize,
    failed: Option<TreeError>,
}

struct Walk<'a> {
    root: &'a FolderHandle,
    selection: TreeSelection<'a>,
    state: Mutex<WalkState>,
    changed: Condvar,
}

/// Lists all folders in which a path can be selected. The first error ends the walk.
pub(super) fn walk(
    root: &FolderHandle,
    selection: TreeSelection<'_>,
) -> Result<FoundFolders, TreeError> {
    let state = WalkState {
        waiting: vec![String::new()],
        listed_now: 0,
        found: BTreeMap::new(),
        entries: 0,
        failed: None,
    };
    let walk = Walk { root, selection, state: Mutex::new(state), changed: Condvar::new() };
    thread::scope(|scope| {
        for _ in 0..thread_count() {
            scope.spawn(|| walk.list_folders());
        }
    });
    let state = walk.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failed.map_or(Ok(state.found), Err)
}

impl Walk<'_> {
    fn list_folders(&self) {
        while let Some(path) = self.next_folder() {
            let listed = self.list_folder(&path);
            self.add(path, listed);
        }
    }

    fn list_folder(&self, path: &str) -> Result<Vec<FoundEntry>, TreeError> {
        let folder = self.root.open_below(path)?;
        FolderListing { folder: &folder, path, selection: self.selection }.entries()
    }

    /// Returns a folder to list; `None` when all are listed.
    fn next_folder(&self) -> Option<String> {
        let mut state = self.state();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if let Some(path) = state.waiting.pop() {
                state.listed_now += 1;
                return Some(path);
            }
            if state.listed_now == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add(&self, path: String, listed: Result<Vec<FoundEntry>, TreeError>) {
        let folders = |entries: &[FoundEntry]| -> Vec<String> {
            let is_entered = |it: &&FoundEntry| matches!(it.kind, FoundKind::Folder { choice } if choice.takes_below());
            entries.iter().filter(is_entered).map(|entry| join(&path, &entry.name)).collect()
        };
        // The manifest would refuse it too, but only after an endless walk.
        let too_deep = path.matches('/').count() >= DEPTH_MAX;
        let mut state = self.state();
        state.listed_now -= 1;
        match listed {
            Ok(entries) if !too_deep && state.entries + entries.len() <= ENTRIES_MAX => {
                state.entries += entries.len();
                state.waiting.extend(folders(&entries));
                state.found.insert(path, entries);
            }
            Ok(_) if too_deep => {
                let problem = PathProblem::TooDeep;
                state.failed = Some(ManifestError::Path { path, problem }.into());
            }
            Ok(_) => state.failed = Some(ManifestError::TooMany.into()),
            Err(error) => state.failed = Some(error),
        }
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, WalkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
