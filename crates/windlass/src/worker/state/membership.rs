//! Who a worker is in one cluster, and what it owes to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::session::Finished;

use super::directory::{Lock, StateError};
use super::file;
use super::lives::Lives;
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
    lives: Lives,
    /// Why outcomes could not be kept, if the last try failed.
    fault: watch::Sender<Option<StateError>>,
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
        let lives = Lives::open(&folder.join("lives"))?;
        let fault = watch::Sender::default();
        Ok(Self { folder, secret, lives, fault, _lock: lock })
    }

    /// What proves who it is.
    pub const fn secret(&self) -> &WorkerSecret {
        &self.secret
    }

    /// Its number.
    pub fn worker_id(&self) -> WorkerId {
        self.secret.worker_id()
    }

    /// The lives of the worker in this cluster.
    pub const fn lives(&self) -> &Lives {
        &self.lives
    }

    /// The number of its latest life.
    pub fn incarnation(&self) -> Incarnation {
        self.lives.latest()
    }

    /// The folder of what it has for this cluster.
    pub fn folder(&self) -> &Path {
        &self.folder
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

    /// Why outcomes could not be kept, each time that this changes.
    pub fn fault(&self) -> watch::Receiver<Option<StateError>> {
        self.fault.subscribe()
    }

    /// Keeps these outcomes and no others.
    pub fn keep_outcomes(&self, outcomes: &[Finished]) -> Result<(), StateError> {
        let kept = self.write_outcomes(outcomes);
        let fault = kept.as_ref().err().cloned();
        self.fault.send_if_modified(|known| {
            let is_news = known.is_some() != fault.is_some();
            *known = fault;
            is_news
        });
        kept
    }

    fn write_outcomes(&self, outcomes: &[Finished]) -> Result<(), StateError> {
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
