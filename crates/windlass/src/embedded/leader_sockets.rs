//! The sockets of the process that leads a folder: one for commands, one for other processes that share the folder.
//!
//! They are open while this process leads. When it stops leading, their connections end, and the other processes look
//! for the next leader.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinSet;
use windlass_controller::api::Api;
use windlass_controller::{NodeHandle, PeerServer};
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};

use super::control_socket::{ControlSocket, socket_path};

/// The socket for other processes that share the folder.
const PEERS: &str = "peers.sock";

/// Opens and closes the sockets as this process begins and stops to lead.
#[derive(Debug)]
pub struct LeaderSockets {
    folder: PathBuf,
    handle: NodeHandle,
    api: Arc<Api>,
}

/// The socket at which the leader of a folder answers other processes that share the folder.
pub(super) fn peer_socket(folder: &Path) -> PathBuf {
    socket_path(folder, PEERS)
}

impl LeaderSockets {
    /// The sockets of the stores in a folder, for the node behind this handle and its API.
    pub fn new(folder: &Path, handle: NodeHandle, api: Api) -> Self {
        Self { folder: folder.to_owned(), handle, api: Arc::new(api.for_owner()) }
    }

    /// Serves whenever this process leads, until the shutdown.
    pub async fn run(self, mut shutdown: ShutdownReceiver) {
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                () = self.wait_until(true) => {}
            }
            let (closing, ends) = ShutdownSender::new();
            let mut serving = self.serve(&ends);
            tokio::select! {
                () = shutdown.wait() => {}
                () = self.wait_until(false) => {}
            }
            closing.shut_down();
            while serving.join_next().await.is_some() {}
        }
    }

    /// Opens the sockets. Runs of this process continue even if no other process can connect to it.
    fn serve(&self, ends: &ShutdownReceiver) -> JoinSet<()> {
        let mut serving = JoinSet::new();
        if let Ok(peers) = PeerServer::bind(&peer_socket(&self.folder), self.handle.clone()) {
            serving.spawn(peers.run(ends.clone()));
        }
        if let Ok(commands) = ControlSocket::bind_shared(&self.folder, Arc::clone(&self.api)) {
            serving.spawn(commands.run(ends.clone()));
        }
        serving
    }

    /// Waits until this process leads, or does not.
    async fn wait_until(&self, leads: bool) {
        let mut changed = self.handle.views().access();
        while self.handle.views().with(windlass_controller::EngineView::leads) != leads {
            // The sender lives as long as the handle.
            drop(changed.changed().await);
        }
    }
}
