//! The other terminal's way to a local run: the controller's API, on a socket beside its store.
//!
//! Whatever can be read is read from the stores; only what the leader must decide is asked here. Who may open the socket
//! may do everything, so no token is asked for.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::UnixListener;
use windlass_controller::api::{Api, HttpServer, router};
use windlass_core::engine::CancelLevel;
use windlass_core::id::RunId;
use windlass_net::http::{
    ClientCredentials, ControllerAddress, HttpCallError, HttpClient, UnixSocketDialer,
};
use windlass_net::shutdown::ShutdownReceiver;

const NAME: &str = "leader.sock";

/// Linux allows 107 bytes, macOS 103.
const ADDRESS_MAX: usize = 103;

/// How long an answer is waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What a request says whom it is for; the socket is what it reaches.
const PLACE: &str = "http://localhost";

/// Why a question has no good answer.
#[derive(Debug, thiserror::Error)]
pub enum ControlSocketError {
    /// No run is under way in that store.
    #[error("nothing runs here now")]
    NoLeader,
    /// Its leader refused.
    #[error("{0}")]
    Refused(String),
    /// It did not answer as it should.
    #[error("the run's process does not answer: {0}")]
    NoAnswer(io::Error),
}

/// Asks the leader of the stores in a folder to end a run.
pub async fn cancel(
    folder: &Path,
    run: RunId,
    level: CancelLevel,
) -> Result<(), ControlSocketError> {
    if !is_led(folder) {
        return Err(ControlSocketError::NoLeader);
    }
    let (client, place) = leader_client(folder);
    let level = match level {
        CancelLevel::Stop => "stop",
        CancelLevel::Kill => "kill",
    };
    let path = format!("/runs/{run}/cancel");
    match client.post(&place, &path, &json!({ "level": level }), ANSWER_WITHIN).await {
        Ok(_) => Ok(()),
        Err(HttpCallError::Refused(problem)) => Err(ControlSocketError::Refused(problem.detail)),
        Err(HttpCallError::Unreachable { reason, .. }) => {
            Err(ControlSocketError::NoAnswer(io::Error::other(reason)))
        }
        Err(error @ HttpCallError::NotLeader { .. }) => {
            Err(ControlSocketError::NoAnswer(io::Error::other(error)))
        }
    }
}

/// The way to the leader of the stores in a folder, if there is one.
pub fn leader_client(folder: &Path) -> (HttpClient, ControllerAddress) {
    let client =
        HttpClient::new(Arc::new(UnixSocketDialer(address(folder))), ClientCredentials::default());
    (client, PLACE.parse().expect("it is an address"))
}

/// Whether somebody leads the stores in a folder, and works for them. No answer is waited for: a process that is stopped
/// for a while leads all the same.
pub fn is_led(folder: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(address(folder)).is_ok()
}

/// Where the leader of the stores in a folder listens: there, or elsewhere if a socket cannot have so long a name.
fn address(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let beside = folder.join(NAME);
    if beside.as_os_str().len() <= ADDRESS_MAX {
        return beside;
    }
    let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    std::env::temp_dir().join(format!("windlass-{}.sock", &hash[..32]))
}

/// Answers other terminals while a run is led.
#[derive(Debug)]
pub struct ControlSocket {
    server: HttpServer<UnixListener>,
    file: PathBuf,
}

impl ControlSocket {
    /// Listens in a folder whose stores this process leads: a socket that is there already is a dead one's.
    pub fn bind(folder: &Path, api: Api) -> io::Result<Self> {
        let file = address(folder);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&file)?;
        // Who may write to the socket may end the run: only its owner.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { server: HttpServer::new(listener, router(Arc::new(api.for_owner()))), file })
    }

    /// Answers until it is told to end.
    pub async fn run(self, shutdown: ShutdownReceiver) {
        self.server.run(shutdown).await;
        drop(std::fs::remove_file(&self.file));
    }
}
