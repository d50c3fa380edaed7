//! The directory as a whole, and the process that uses it.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_net::files::{durable_folder, private_files};

use super::atomic_file;
use super::guard_lock::{GuardLock, GuardLockIdentity};
use super::incarnations::WorkerIncarnations;
use super::membership::ClusterMembership;
#[cfg(unix)]
use crate::guard::{GuardHandle, kill_marked};

/// Why a state directory cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateDirectoryError {
    /// Another process uses the directory.
    #[error(
        "{} is in use by {}: stop it, or give this worker another state directory",
        folder.display(),
        pid.map_or("another process".to_owned(), |pid| format!("process {pid}"))
    )]
    InUse {
        /// The directory.
        folder: PathBuf,
        /// The process id of the other process, if known.
        pid: Option<u32>,
    },
    /// A file in the directory cannot be read or written.
    #[error("{} cannot be used: {reason}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl StateDirectoryError {
    pub(super) fn unusable(file: &Path, reason: &impl ToString) -> Self {
        Self::Unusable { file: file.to_owned(), reason: reason.to_string() }
    }
}

/// A worker's state directory. It belongs to this process until it and every value made from it are dropped.
#[derive(Debug)]
pub struct StateDirectory {
    folder: PathBuf,
    lock: Arc<StateDirectoryLock>,
}

/// Holds the lock until it is dropped. The file stays, because a lock on a removed file excludes no other process.
#[derive(Debug)]
pub(super) struct StateDirectoryLock(File);

impl Drop for StateDirectoryLock {
    fn drop(&mut self) {
        // Closing also unlocks, but not while a child that is about to execute still has a copy of the descriptor.
        drop(self.0.unlock());
    }
}

impl StateDirectory {
    /// Opens a directory and locks it, unless another process uses it. Creates it if need be.
    pub fn open(folder: &Path) -> Result<Self, StateDirectoryError> {
        let made = durable_folder::create_durably(folder).and_then(|()| folder.canonicalize());
        // Steps get paths below it, and start in other directories.
        let folder = made.map_err(|error| StateDirectoryError::unusable(folder, &error))?;
        let lock = folder.join("lock");
        let taken = take(&lock).map_err(|error| StateDirectoryError::unusable(&lock, &error))?;
        let lock =
            taken.map_err(|pid| StateDirectoryError::InUse { folder: folder.clone(), pid })?;
        let state = Self { folder, lock: Arc::new(lock) };
        let scratch = state.scratch();
        durable_folder::create_durably(&scratch)
            .map_err(|error| StateDirectoryError::unusable(&scratch, &error))?;
        Ok(state)
    }

    /// Returns the directory for files of running steps.
    pub fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    /// Returns the membership in the cluster with this id. Creates it if the worker was never there.
    pub fn join_cluster(&self, cluster: &str) -> Result<ClusterMembership, StateDirectoryError> {
        ClusterMembership::open(&self.folder.join("clusters"), cluster, Arc::clone(&self.lock))
    }

    /// Takes the lock for the guard that is about to be started, and returns its identity. Call it after
    /// [`kill_strays`](Self::kill_strays).
    pub async fn take_guard_lock(
        &self,
    ) -> Result<(GuardLock, GuardLockIdentity), StateDirectoryError> {
        let taken = GuardLock::take(&self.folder).await;
        taken.map_err(|error| StateDirectoryError::unusable(&self.folder, &error))
    }

    /// Returns the incarnations of a worker that works for the leader of a local store.
    pub fn incarnations(&self) -> Result<WorkerIncarnations, StateDirectoryError> {
        WorkerIncarnations::open(&self.folder.join("lives"))
    }

    /// Kills the processes that an earlier incarnation left if its worker and its guard died together. Returns their
    /// number.
    #[cfg(unix)]
    pub async fn kill_strays(&self) -> Result<usize, StateDirectoryError> {
        let file = self.guard_file();
        let Some(mark) = atomic_file::read(&file)? else { return Ok(0) };
        let mark = String::from_utf8_lossy(&mark).into_owned();
        let killed = kill_marked(mark.trim()).await;
        killed.map_err(|error| StateDirectoryError::unusable(&file, &error))
    }

    /// Records the guard of this incarnation, before the guard starts anything.
    #[cfg(unix)]
    pub fn keep_guard(&self, guard: &GuardHandle) -> Result<(), StateDirectoryError> {
        atomic_file::write(&self.guard_file(), guard.mark().as_bytes())
    }

    #[cfg(unix)]
    fn guard_file(&self) -> PathBuf {
        self.folder.join("guard")
    }
}

/// Takes the lock, or returns the process that has it.
fn take(lock: &Path) -> io::Result<Result<StateDirectoryLock, Option<u32>>> {
    let mut options = private_files::open_options();
    let mut file = options.create(true).truncate(false).read(true).write(true).open(lock)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())?;
            Ok(Ok(StateDirectoryLock(file)))
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            file.take(20).read_to_string(&mut text)?;
            Ok(Err(text.trim().parse().ok()))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}
