//! The place of one process among those that share the stores in a folder.
//!
//! ```text
//!  STORE/workers/1/guard.lock   held by the guard of the process in this slot until nothing of any command is left
//!                 /process.lock held by the process: when it is free, the guard is about to end the commands
//!                 /lives        the numbers of the incarnations of the worker in this slot
//!                 /scratch/     files of its running steps
//! ```
//!
//! A process takes the first slot of which both locks are free. The slot is the identity of its worker, so the next process in it proves by the
//! lock that nothing of the last one is left.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::id::WorkerId;
use windlass_net::files::{durable_folder, private_files};
use windlass_worker::{GuardLock, GuardLockIdentity, StateDirectoryError, WorkerIncarnations};

/// Processes that can share a folder. Each leads or follows the journal, so many more would wait for each other.
const SLOTS_MAX: u64 = 1_024;

const PROCESS_LOCK: &str = "process.lock";

/// The slots, in the folder of the stores.
const FOLDER: &str = "workers";

/// The slot of this process. It is free again when the process and its guard have ended.
#[derive(Debug)]
pub struct WorkerSlot {
    number: u64,
    folder: PathBuf,
    identity: GuardLockIdentity,
    /// Held until the process ends.
    _process: File,
}

impl WorkerSlot {
    /// Takes the first free slot, and returns the lock for its guard.
    pub fn claim(store: &Path) -> io::Result<(Self, GuardLock)> {
        for number in 1..=SLOTS_MAX {
            let folder = slot_folder(store, WorkerId(number));
            durable_folder::create_durably(&folder)?;
            let Some((lock, identity)) = GuardLock::try_take(&folder)? else { continue };
            let Some(process) = take_process_lock(&folder)? else { continue };
            return Ok((Self { number, folder, identity, _process: process }, lock));
        }
        Err(io::Error::other(format!("{SLOTS_MAX} processes use this folder, which is the limit")))
    }

    /// Whether the process and the guard of a worker have ended.
    pub fn is_free(store: &Path, worker: WorkerId) -> io::Result<bool> {
        let guard_ended = GuardLock::is_free(&slot_folder(store, worker))?;
        Ok(guard_ended && Self::has_lost_its_process(store, worker))
    }

    /// Whether the process of a worker has ended. Its guard may not have ended the steps yet.
    pub fn has_lost_its_process(store: &Path, worker: WorkerId) -> bool {
        match File::open(slot_folder(store, worker).join(PROCESS_LOCK)) {
            Ok(file) => file.try_lock_shared().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// The id of its worker.
    pub const fn worker(&self) -> WorkerId {
        WorkerId(self.number)
    }

    /// The name of its worker on this host. Names of live workers are unique.
    pub fn worker_name(&self, host: &str) -> String {
        if self.number == 1 { host.to_owned() } else { format!("{host}-{}", self.number) }
    }

    /// The folder of files through which its steps report to windlass.
    pub fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    /// The starts of its worker, and the lock of its guard.
    pub fn incarnations(
        &self,
    ) -> Result<(Arc<WorkerIncarnations>, GuardLockIdentity), StateDirectoryError> {
        let incarnations = WorkerIncarnations::open(&self.folder.join("lives"))?;
        Ok((Arc::new(incarnations), self.identity.clone()))
    }
}

/// Takes the lock of the process in a slot; `None` if another process holds it.
fn take_process_lock(folder: &Path) -> io::Result<Option<File>> {
    let mut options = private_files::open_options();
    let file = options.create(true).truncate(false).write(true).open(folder.join(PROCESS_LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn slot_folder(store: &Path, worker: WorkerId) -> PathBuf {
    store.join(FOLDER).join(worker.0.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_takes_the_first_slot_that_no_other_holds() {
        let store = tempfile::tempdir().unwrap();
        let (first, first_lock) = WorkerSlot::claim(store.path()).unwrap();
        let (second, _second_lock) = WorkerSlot::claim(store.path()).unwrap();
        let names = [&first, &second].map(|slot| slot.worker_name("host"));
        assert_eq!((names, second.worker()), (["host", "host-2"].map(Into::into), WorkerId(2)));

        let is_free = || WorkerSlot::is_free(store.path(), WorkerId(1)).unwrap();
        drop(first_lock);
        assert!(!is_free(), "the process still holds it");
        let is_lost = || WorkerSlot::has_lost_its_process(store.path(), WorkerId(1));
        assert!(!is_lost());
        drop(first);
        assert!(is_lost());
        assert!(is_free() && !WorkerSlot::is_free(store.path(), WorkerId(2)).unwrap());
        let (again, _lock) = WorkerSlot::claim(store.path()).unwrap();
        assert_eq!(again.worker(), WorkerId(1));
    }
}
