//! The access of other terminals to a local run: the controller's API, on a Unix socket beside its store.
//!
//! Commands read from the stores and send the leader only what it must decide. A process that can open the socket has full
//! control, so no token is needed.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use windlass_controller::api::{Api, HttpServer, router};
use windlass_core::engine::CancelLevel;
use windlass_core::id::RunId;
use windlass_core::json_form::AsWord;
use windlass_link::http::CancelRunBody;
use windlass_net::http::{
    ClientCredentials, ControllerAddress, HttpCallError, HttpClient, UnixSocketDialer,
};
use windlass_net::shutdown::ShutdownReceiver;

const NAME: &str = "leader.sock";

/// The longest path of a socket: Linux allows 107 bytes, macOS 103.
const ADDRESS_MAX: usize = 103;

/// How long to wait for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The host of requests; they reach the socket whatever it is.
const PLACE: &str = "http://localhost";

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlSocketError {
    /// No process leads the store.
    #[error("nothing runs here now")]
    NoLeader,
    /// The leader refused the request.
    #[error("{0}")]
    Refused(String),
    /// The leader did not answer, or not as expected.
    #[error("the run's process does not answer: {0}")]
    NoAnswer(io::Error),
}

/// Asks the leader of the stores in a folder to cancel a run.
pub async fn cancel(
    folder: &Path,
    run: RunId,
    level: CancelLevel,
) -> Result<(), ControlSocketError> {
    if !is_led(folder) {
        return Err(ControlSocketError::NoLeader);
    }
    let (client, address) = leader_client(folder);
    let path = format!("/runs/{run}/cancel");
    let body = CancelRunBody { level: AsWord(level) };
    match client.post(&address, &path, &body, ANSWER_WITHIN).await {
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

/// A client for the leader of the stores in a folder, and the address for its requests.
pub fn leader_client(folder: &Path) -> (HttpClient, ControllerAddress) {
    let client =
        HttpClient::new(Arc::new(UnixSocketDialer(address(folder))), ClientCredentials::default());
    (client, PLACE.parse().expect("it is an address"))
}

/// Whether a process leads the stores in a folder. It only connects and waits for no answer: a process that is stopped for
/// a while still leads.
pub fn is_led(folder: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(address(folder)).is_ok()
}

/// The socket for commands of the leader of the stores in a folder.
fn address(folder: &Path) -> PathBuf {
    socket_path(folder, NAME)
}

/// A socket of this name in a folder. It is elsewhere if the path would be too long for a socket.
pub(super) fn socket_path(folder: &Path, name: &str) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let beside = folder.join(name);
    if beside.as_os_str().len() <= ADDRESS_MAX {
        return beside;
    }
    let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    std::env::temp_dir().join(format!("windlass-{}-{name}", &hash[..32]))
}

/// Serves the API to other terminals while this process leads.
#[derive(Debug)]
pub struct ControlSocket {
    server: HttpServer<UnixListener>,
}

impl ControlSocket {
    /// Listens in a folder whose stores this process leads. A socket that exists already was left by a dead process.
    pub fn bind(folder: &Path, api: Api) -> io::Result<Self> {
        Self::bind_shared(folder, Arc::new(api.for_owner()))
    }

    /// Does the same for an API that already is the owner's.
    pub(super) fn bind_shared(folder: &Path, api: Arc<Api>) -> io::Result<Self> {
        let file = address(folder);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&file)?;
        // A process that can write to the socket can end the run: only processes of the owner may.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { server: HttpServer::new(listener, router(api)) })
    }

    /// Serves until the shutdown. The file stays: the next leader may have replaced it already.
    pub async fn run(self, shutdown: ShutdownReceiver) {
        self.server.run(shutdown).await;
    }
}
