//! The numbers of a worker's lives: which is the latest, and which of them began in this place.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use windlass_core::id::Incarnation;
use windlass_core::session::{FormerLifeProof, PROVEN_LIVES_MAX};
use windlass_core::time::Time;
use windlass_net::random;

use super::atomic_file;
use super::directory::StateDirectoryError;
use super::guard_lock::GuardLockIdentity;

/// The lives of a worker, in a file.
#[derive(Debug)]
pub struct WorkerIncarnations {
    file: PathBuf,
    known: Mutex<KnownIncarnations>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct KnownIncarnations {
    latest: Incarnation,
    /// Where the guard of the latest one holds its lock.
    guard: GuardLockIdentity,
    /// Those whose guards held the lock of that place, without a gap; the latest last.
    here: Vec<Incarnation>,
}

impl WorkerIncarnations {
    /// Reads the file, if there is one.
    pub fn open(path: &Path) -> Result<Self, StateDirectoryError> {
        let bytes = atomic_file::read(path)?.unwrap_or_default();
        // What cannot be read proves nothing, and the system's time is higher than any number as a rule.
        let known = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Self { file: path.to_owned(), known: Mutex::new(known) })
    }

    /// Begins a life of a process that has just started, with a number above `above` and all before it. Its guard holds the
    /// lock at `guard`: the lives whose guards held that very lock are dead, which is for its registration to tell.
    pub fn begin(
        &self,
        above: Incarnation,
        guard: GuardLockIdentity,
        now: Time,
    ) -> Result<(Incarnation, FormerLifeProof), StateDirectoryError> {
        let mut known = self.known();
        if !known.guard.is(&guard) {
            known.here.clear();
            known.guard = guard;
        }
        self.add(&mut known, above, now)
    }

    /// Begins another life of this process, of whose former life nothing is left.
    pub fn begin_another(
        &self,
        now: Time,
    ) -> Result<(Incarnation, FormerLifeProof), StateDirectoryError> {
        self.add(&mut self.known(), Incarnation::default(), now)
    }

    /// The number of the latest life.
    pub fn latest(&self) -> Incarnation {
        self.known().latest
    }

    fn add(
        &self,
        known: &mut KnownIncarnations,
        above: Incarnation,
        now: Time,
    ) -> Result<(Incarnation, FormerLifeProof), StateDirectoryError> {
        let next = known.latest.max(above).next(now, random::random_number());
        let mut here = known.here.clone();
        let dead = if here.is_empty() {
            FormerLifeProof::Unknown
        } else {
            FormerLifeProof::ProvenDead(here.clone())
        };
        if here.len() == PROVEN_LIVES_MAX {
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
