//! The numbers of a worker's incarnations: the latest one, and those whose guards used the same lock.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use windlass_core::id::Incarnation;
use windlass_core::session::{FormerIncarnationProof, PROVEN_INCARNATIONS_MAX};
use windlass_core::time::Time;
use windlass_net::random;

use super::atomic_file;
use super::directory::StateDirectoryError;
use super::guard_lock::GuardLockIdentity;

/// The incarnations of a worker, in a file.
#[derive(Debug)]
pub struct WorkerIncarnations {
    file: PathBuf,
    known: Mutex<KnownIncarnations>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct KnownIncarnations {
    latest: Incarnation,
    /// The identity of the lock that the guard of the latest one holds.
    guard: GuardLockIdentity,
    /// The incarnations whose guards held that lock, without a gap; the latest last.
    here: Vec<Incarnation>,
}

impl WorkerIncarnations {
    /// Reads the file, if there is one.
    pub fn open(path: &Path) -> Result<Self, StateDirectoryError> {
        let bytes = atomic_file::read(path)?.unwrap_or_default();
        // An unreadable file proves nothing, and the system time is usually higher than any number.
        let known = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Self { file: path.to_owned(), known: Mutex::new(known) })
    }

    /// Begins an incarnation of a process that has just started, with a number above `above` and all before it. Its
    /// guard holds the lock at `guard`. Incarnations whose guards held that very lock are dead; its registration
    /// reports this.
    pub fn begin(
        &self,
        above: Incarnation,
        guard: GuardLockIdentity,
        now: Time,
    ) -> Result<(Incarnation, FormerIncarnationProof), StateDirectoryError> {
        let mut known = self.known();
        if !known.guard.is(&guard) {
            known.here.clear();
            known.guard = guard;
        }
        self.add(&mut known, above, now)
    }

    /// Begins another incarnation of this process, of whose former one nothing is left.
    pub fn begin_another(
        &self,
        now: Time,
    ) -> Result<(Incarnation, FormerIncarnationProof), StateDirectoryError> {
        self.add(&mut self.known(), Incarnation::default(), now)
    }

    /// Returns the number of the latest incarnation.
    pub fn latest(&self) -> Incarnation {
        self.known().latest
    }

    fn add(
        &self,
        known: &mut KnownIncarnations,
        above: Incarnation,
        now: Time,
    ) -> Result<(Incarnation, FormerIncarnationProof), StateDirectoryError> {
        let next = known.latest.max(above).next(now, random::random_number());
        let mut here = known.here.clone();
        let dead = if here.is_empty() {
            FormerIncarnationProof::Unknown
        } else {
            FormerIncarnationProof::ProvenDead(here.clone())
        };
        if here.len() == PROVEN_INCARNATIONS_MAX {
            here.remove(0);
        }
        here.push(next);
        let begun = KnownIncarnations { latest: next, guard: known.guard.clone(), here };
        let text = serde_json::to_vec(&begun)
            .map_err(|error| StateDirectoryError::unusable(&self.file, &error))?;
        atomic_file::write(&self.file, &text)?;
        *known = begun;
        Ok((next, dead))
    }

    fn known(&self) -> MutexGuard<'_, KnownIncarnations> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
