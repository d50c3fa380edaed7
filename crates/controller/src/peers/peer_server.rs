//! The leader's end: it answers the nodes that stand by on the same host.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass_net::shutdown::ShutdownReceiver;

use super::frames::{Numbered, PeerAnswer, PeerHello, PeerRequest, read_frame, write_frame};
use crate::handle::NodeHandle;

/// Connections: one per process at the folder.
const CONNECTIONS_MAX: usize = 1_024;

/// Requests without an answer, per connection.
const REQUESTS_MAX: usize = 1_024;

/// How long a standby may take to read an answer. It reads at once unless its process is stopped.
const READ_WITHIN: Duration = Duration::from_mins(1);

/// The socket at which the leader answers other nodes of the host.
#[derive(Debug)]
pub struct PeerServer {
    listener: UnixListener,
    handle: NodeHandle,
}

impl PeerServer {
    /// Listens at a path, in a folder that this node leads. A socket that exists already is of an earlier leader. The file
    /// stays after the end: the next leader may have replaced it already.
    pub fn bind(socket: &Path, handle: NodeHandle) -> io::Result<Self> {
        match std::fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(socket)?;
        // A process that can write to the socket decides what runs here: only processes of the owner may.
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, handle })
    }

    /// Answers until the shutdown. Every connection ends with it, so that the peers look for the next leader.
    pub async fn run(self, mut shutdown: ShutdownReceiver) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(serve(stream, self.handle.clone()));
                    }
                }
            }
        }
    }
}

/// Serves one peer until its connection ends, or it does not read its answers.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    handle: NodeHandle,
) {
    let (reader, writer) = tokio::io::split(stream);
    let (answers, answered) = mpsc::channel(REQUESTS_MAX);
    tokio::select! {
        // An error ends the connection, and the peer looks for the leader again.
        ended = write_answers(writer, answered) => drop(ended),
        () = read_requests(reader, &handle, &answers) => {}
    }
}

async fn write_answers(
    mut writer: impl AsyncWrite + Unpin,
    mut answered: mpsc::Receiver<Numbered<PeerAnswer>>,
) -> io::Result<()> {
    write_frame(&mut writer, &PeerHello::own()).await?;
    while let Some(answer) = answered.recv().await {
        timeout(READ_WITHIN, write_frame(&mut writer, &answer)).await??;
    }
    Ok(())
}

/// Reads requests until the peer is gone. Each is answered by a task of its own, because an exchange may be parked.
async fn read_requests(
    mut reader: impl AsyncRead + Unpin,
    handle: &NodeHandle,
    answers: &mpsc::Sender<Numbered<PeerAnswer>>,
) {
    let mut requests = JoinSet::new();
    let room = Arc::new(Semaphore::new(REQUESTS_MAX));
    while let Ok(request) = read_frame::<Numbered<PeerRequest>>(&mut reader).await {
        while requests.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let (handle, answers) = (handle.clone(), answers.clone());
        requests.spawn(async move {
            let message = answer(&handle, request.message).await;
            drop(answers.send(Numbered { number: request.number, message }).await);
            drop(permit);
        });
    }
}

async fn answer(handle: &NodeHandle, request: PeerRequest) -> PeerAnswer {
    match request {
        PeerRequest::Ping => PeerAnswer::Pong,
        PeerRequest::Ask(request) => {
            handle.ask(*request).await.map_or(PeerAnswer::NotLeader, PeerAnswer::Answered)
        }
        PeerRequest::Exchange(exchange) => {
            handle.exchange(exchange).await.map_or(PeerAnswer::NotLeader, PeerAnswer::Exchanged)
        }
    }
}
