//! The identity of a worker in one cluster, and what it still has to report there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::session::FinishedAttempt;
use windlass_net::credentials::WorkerSecret;
use windlass_net::files::durable_folder;
use windlass_store::db::frame_format::FrameFormat;

use super::atomic_file;
use super::directory::{StateDirectoryError, StateDirectoryLock};
use super::incarnations::WorkerIncarnations;

/// The file format of saved outcomes.
const OUTCOMES: FrameFormat = FrameFormat { content: "a file of outcomes", upcasts: &[] };

/// The bytes of output that are kept for the next incarnation: one message carries them. What does not fit counts as
/// lost.
const OUTPUT_ROOM: usize = 512 * 1024;

/// The membership of a worker in a cluster.
#[derive(Debug)]
pub struct ClusterMembership {
    folder: PathBuf,
    secret: WorkerSecret,
    incarnations: WorkerIncarnations,
    /// The reason why outcomes could not be saved, if the last try failed.
    fault: watch::Sender<Option<StateDirectoryError>>,
    /// Keeps the directory locked as long as it is used.
    _lock: Arc<StateDirectoryLock>,
}

impl ClusterMembership {
    pub(super) fn open(
        clusters: &Path,
        cluster: &str,
        lock: Arc<StateDirectoryLock>,
    ) -> Result<Self, StateDirectoryError> {
        // A hash, because the id comes from elsewhere and may not be a valid directory name.
        let name = blake3::hash(cluster.as_bytes()).to_hex();
        let folder = clusters.join(&name[..16]);
        durable_folder::create_durably(&folder)
            .map_err(|error| StateDirectoryError::unusable(&folder, &error))?;
        let named = folder.join("cluster");
        if atomic_file::read(&named)?.is_none() {
            atomic_file::write(&named, cluster.as_bytes())?;
        }
        let secret = secret(&folder.join("secret"))?;
        let incarnations = WorkerIncarnations::open(&folder.join("lives"))?;
        let fault = watch::Sender::default();
        Ok(Self { folder, secret, incarnations, fault, _lock: lock })
    }

    /// Returns the secret that proves its identity.
    pub const fn secret(&self) -> &WorkerSecret {
        &self.secret
    }

    /// Returns its worker id.
    pub fn worker_id(&self) -> WorkerId {
        self.secret.worker_id()
    }

    /// Returns the incarnations of the worker in this cluster.
    pub const fn incarnations(&self) -> &WorkerIncarnations {
        &self.incarnations
    }

    /// Returns the number of its latest incarnation.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnations.latest()
    }

    /// Returns the directory of this membership.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the directory for output that the leader does not have yet.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// Returns the saved outcomes. An unreadable file is dropped: its steps are dispatched again.
    pub fn outcomes(&self) -> Vec<FinishedAttempt> {
        let bytes = atomic_file::read(&self.outcomes_file()).ok().flatten().unwrap_or_default();
        let body = OUTCOMES.decode(&bytes).ok();
        body.and_then(|body| postcard::from_bytes(&body).ok()).unwrap_or_default()
    }

    /// Watches the reason why outcomes could not be saved.
    pub fn fault(&self) -> watch::Receiver<Option<StateDirectoryError>> {
        self.fault.subscribe()
    }

    /// Saves these outcomes in place of the earlier ones.
    pub fn keep_outcomes(&self, outcomes: &[FinishedAttempt]) -> Result<(), StateDirectoryError> {
        let kept = self.write_outcomes(outcomes);
        let fault = kept.as_ref().err().cloned();
        self.fault.send_if_modified(|known| {
            let is_news = known.is_some() != fault.is_some();
            *known = fault;
            is_news
        });
        kept
    }

    fn write_outcomes(&self, outcomes: &[FinishedAttempt]) -> Result<(), StateDirectoryError> {
        let file = self.outcomes_file();
        if outcomes.is_empty() {
            atomic_file::remove(&file);
            return Ok(());
        }
        let mut room = OUTPUT_ROOM;
        let fits = |finished: &&FinishedAttempt| {
            let left = room.checked_sub(finished.outcome.output.len());
            room = left.unwrap_or(room);
            left.is_some()
        };
        let kept: Vec<&FinishedAttempt> = outcomes.iter().filter(fits).collect();
        let body = postcard::to_stdvec(&kept);
        let body = body.map_err(|error| StateDirectoryError::unusable(&file, &error))?;
        atomic_file::write(&file, &OUTCOMES.encode(&body))
    }

    /// Removes the saved outcomes: the leader has judged them.
    pub fn forget_outcomes(&self) {
        atomic_file::remove(&self.outcomes_file());
    }

    fn outcomes_file(&self) -> PathBuf {
        self.folder.join("outcomes")
    }
}

/// Reads the secret from a file, or creates a new one if there is no file.
fn secret(file: &Path) -> Result<WorkerSecret, StateDirectoryError> {
    if let Some(bytes) = atomic_file::read(file)? {
        let text = String::from_utf8_lossy(&bytes);
        return WorkerSecret::parse(&text)
            .map_err(|error| StateDirectoryError::unusable(file, &error));
    }
    let secret =
        WorkerSecret::generate().map_err(|error| StateDirectoryError::unusable(file, &error))?;
    atomic_file::write(file, secret.to_hex().as_bytes())?;
    Ok(secret)
}
