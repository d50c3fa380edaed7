//! The folders below `ws`: `ws/RUN/STEP.FENCE`, one for each attempt.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use windlass_core::session::LeaseRef;
use windlass_net::files::{durable_folder, private_files};

use super::file_lock::entries;
use super::folder_records::{self, FolderRecord, OwnProcess};
use super::folder_removal::{move_to_trash, remove_tree};
use super::workspace_error::WorkspaceError;

/// How often the folder of a run is created again because a sweep removes it while it is empty.
const CREATIONS: usize = 8;

/// All folders of attempts below a state directory.
#[derive(Debug)]
pub(super) struct AttemptFolders {
    pub(super) root: PathBuf,
    pub(super) process: OwnProcess,
    /// The folders that this process uses now.
    claimed: Mutex<BTreeSet<PathBuf>>,
}

/// The right to use a folder. A folder whose claim was dropped is removed by the next sweep, unless it is kept.
#[derive(Debug)]
pub(super) struct FolderClaim {
    pub(super) folders: Arc<AttemptFolders>,
    pub(super) path: PathBuf,
}

impl Drop for FolderClaim {
    fn drop(&mut self) {
        self.folders.claimed().remove(&self.path);
    }
}

impl AttemptFolders {
    /// Opens the folders, and announces this process.
    pub(super) fn open(state: &Path) -> Result<Self, WorkspaceError> {
        let root = state.join("ws");
        let owners = root.join(".owners");
        let made = durable_folder::create_durably(&owners).and_then(|()| root.canonicalize());
        let root = made.map_err(|error| WorkspaceError::system("create", &root, error))?;
        let process = OwnProcess::announce(&owners)?;
        Ok(Self { root, process, claimed: Mutex::default() })
    }

    /// Makes the empty folder of an attempt. What was at its path is removed: a fence starts at most once.
    pub(super) fn claim(self: &Arc<Self>, lease: &LeaseRef) -> Result<FolderClaim, WorkspaceError> {
        let run = self.root.join(lease.run.to_string());
        let path = run.join(format!("{}.{}", lease.step.0, lease.fence.0));
        if !self.claimed().insert(path.clone()) {
            return Err(WorkspaceError::InUse { path });
        }
        let claim = FolderClaim { folders: Arc::clone(self), path };
        if let FolderRecord::Owned(owner) = read_record(&claim.path)?
            && owner != self.process.name
            && folder_records::is_alive(&self.owners(), &owner)?
        {
            return Err(WorkspaceError::InUse { path: claim.path.clone() });
        }
        self.remove(&claim.path)?;
        self.make(&claim.path)?;
        Ok(claim)
    }

    fn make(&self, path: &Path) -> Result<(), WorkspaceError> {
        let create = || {
            private_files::create_folders(path.parent().unwrap_or(&self.root))?;
            folder_records::own(path, &self.process.name)?;
            private_files::create_folder(path)
        };
        let mut created = create();
        for _ in 1..CREATIONS {
            match &created {
                Err(error) if error.kind() == ErrorKind::NotFound => created = create(),
                Ok(()) | Err(_) => break,
            }
        }
        created.map_err(|error| WorkspaceError::system("create", path, error))
    }

    /// Removes a folder with its records. It is out of its place at once.
    pub(super) fn remove(&self, path: &Path) -> Result<(), WorkspaceError> {
        let failed = |error| WorkspaceError::system("remove", path, error);
        let moved = move_to_trash(path, &self.trash()).map_err(failed)?;
        folder_records::forget(path);
        // It stays if it has other folders.
        drop(fs::remove_dir(path.parent().unwrap_or(path)));
        moved.map_or(Ok(()), |moved| remove_tree(&moved)).map_err(failed)
    }

    /// Removes folders without a living owner, and the kept ones that `expire` chooses from the times since which they are
    /// kept, the latest first. One that cannot be removed does not keep the others; the first error is returned.
    pub(super) fn sweep(
        &self,
        expire: impl Fn(usize, SystemTime) -> bool,
    ) -> Result<(), WorkspaceError> {
        let mut result = Ok(());
        let mut kept = Vec::new();
        for path in self.list()? {
            let removed = match read_record(&path)? {
                FolderRecord::Kept(since) => {
                    kept.push((since, path));
                    continue;
                }
                FolderRecord::Owned(owner) if self.is_used(&path, &owner)? => continue,
                FolderRecord::Owned(_) | FolderRecord::Nothing => self.remove(&path),
            };
            result = result.and(removed);
        }
        kept.sort_unstable_by(|one, other| other.cmp(one));
        for (rank, (since, path)) in kept.iter().enumerate() {
            if expire(rank, *since) {
                result = result.and(self.remove(path));
            }
        }
        for owner in entries(&self.owners()).unwrap_or_default() {
            let name = owner.file_name().unwrap_or_default().to_string_lossy();
            // It removes the file of a process that has ended.
            result = result.and(folder_records::is_alive(&self.owners(), &name).map(drop));
        }
        result.and(self.empty_trash())
    }

    fn is_used(&self, path: &Path, owner: &str) -> Result<bool, WorkspaceError> {
        if owner == self.process.name {
            return Ok(self.claimed().contains(path));
        }
        folder_records::is_alive(&self.owners(), owner)
    }

    /// Lists the folders of attempts, and those of which only a record is left.
    fn list(&self) -> Result<BTreeSet<PathBuf>, WorkspaceError> {
        let list = |folder: &Path| {
            entries(folder).map_err(|error| WorkspaceError::system("list", folder, error))
        };
        let mut found = BTreeSet::new();
        for run in list(&self.root)? {
            let is_run =
                run.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
            if is_run && run.is_dir() {
                found.extend(list(&run)?.iter().map(|entry| folder_records::folder_of(entry)));
                // It fails unless it is empty.
                drop(fs::remove_dir(&run));
            }
        }
        Ok(found)
    }

    fn empty_trash(&self) -> Result<(), WorkspaceError> {
        let trash = self.trash();
        let removed =
            || -> io::Result<()> { entries(&trash)?.iter().try_for_each(|tree| remove_tree(tree)) };
        removed().map_err(|error| WorkspaceError::system("empty", &trash, error))
    }

    fn owners(&self) -> PathBuf {
        self.root.join(".owners")
    }

    fn trash(&self) -> PathBuf {
        self.root.join(".trash")
    }

    fn claimed(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_record(path: &Path) -> Result<FolderRecord, WorkspaceError> {
    let read = folder_records::read(path);
    read.map_err(|error| WorkspaceError::system("read the owner of", path, error))
}
