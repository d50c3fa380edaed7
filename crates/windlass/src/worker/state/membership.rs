//! Who a worker is in one cluster, and what it owes to it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::session::Finished;
use windlass_core::time::Time;

use super::directory::{Lock, StateError};
use super::file;
use crate::link::WorkerSecret;
use crate::store::{folder, frame};

/// How outcomes are written. Another version's are dropped: their steps are handed out again.
const OUTCOMES_VERSION: u8 = 1;

/// Bytes of output that are kept for another life: they are presented in one message. What does not fit counts as lost.
const OUTPUT_ROOM: usize = 512 * 1024;

/// A worker's place in a cluster.
#[derive(Debug)]
pub struct Membership {
    folder: PathBuf,
    secret: WorkerSecret,
    /// The number of the latest life.
    latest: Mutex<u64>,
    /// The directory is this process's as long as it is used.
    _lock: Arc<Lock>,
}

impl Membership {
    pub(super) fn open(
        clusters: &Path,
        cluster: &str,
        lock: Arc<Lock>,
    ) -> Result<Self, StateError> {
        // A hash: the id comes from elsewhere and is no name for a folder.
        let name = blake3::hash(cluster.as_bytes()).to_hex();
        let folder = clusters.join(&name[..16]);
        folder::make(&folder).map_err(|error| StateError::unusable(&folder, &error))?;
        let named = folder.join("cluster");
        if file::read(&named)?.is_none() {
            file::write(&named, cluster.as_bytes())?;
        }
        let secret = secret(&folder.join("secret"))?;
        let latest = file::read(&folder.join("incarnation"))?.unwrap_or_default();
        let latest = String::from_utf8_lossy(&latest).trim().parse().unwrap_or(0);
        Ok(Self { folder, secret, latest: Mutex::new(latest), _lock: lock })
    }

    /// What proves who it is.
    pub const fn secret(&self) -> &WorkerSecret {
        &self.secret
    }

    /// Its number.
    pub fn worker_id(&self) -> WorkerId {
        self.secret.worker_id()
    }

    /// The number of a new life: the system's time, or more if that was used or has been set back.
    pub fn new_incarnation(&self, now: Time) -> Result<Incarnation, StateError> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let next = now.as_millis().max(*latest + 1);
        file::write(&self.folder.join("incarnation"), next.to_string().as_bytes())?;
        *latest = next;
        Ok(Incarnation(next))
    }

    /// The number of its latest life.
    pub fn incarnation(&self) -> Incarnation {
        Incarnation(*self.latest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A folder for output that the leader does not have yet.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// The outcomes that were kept. What cannot be read any more is dropped: its steps are handed out again.
    pub fn outcomes(&self) -> Vec<Finished> {
        let bytes = file::read(&self.outcomes_file()).ok().flatten().unwrap_or_default();
        let body = frame::open("outcomes", OUTCOMES_VERSION, &bytes).ok();
        body.and_then(|body| postcard::from_bytes(body).ok()).unwrap_or_default()
    }

    /// Keeps these outcomes and no others.
    pub fn keep_outcomes(&self, outcomes: &[Finished]) -> Result<(), StateError> {
        let file = self.outcomes_file();
        if outcomes.is_empty() {
            file::remove(&file);
            return Ok(());
        }
        let mut room = OUTPUT_ROOM;
        let fits = |finished: &&Finished| {
            let left = room.checked_sub(finished.outcome.output.len());
            room = left.unwrap_or(room);
            left.is_some()
        };
        let kept: Vec<&Finished> = outcomes.iter().filter(fits).collect();
        let body = postcard::to_stdvec(&kept);
        let body = body.map_err(|error| StateError::unusable(&file, &error))?;
        file::write(&file, &frame::close(OUTCOMES_VERSION, &body))
    }

    /// Keeps none: the leader has judged them.
    pub fn forget_outcomes(&self) {
        file::remove(&self.outcomes_file());
    }

    fn outcomes_file(&self) -> PathBuf {
        self.folder.join("outcomes")
    }
}

/// The secret in a file; a new one if there is no file.
fn secret(file: &Path) -> Result<WorkerSecret, StateError> {
    if let Some(bytes) = file::read(file)? {
        let text = String::from_utf8_lossy(&bytes);
        return WorkerSecret::parse(&text).map_err(|error| StateError::unusable(file, &error));
    }
    let secret = WorkerSecret::generate().map_err(|error| StateError::unusable(file, &error))?;
    file::write(file, secret.to_hex().as_bytes())?;
    Ok(secret)
}
