//! What a node does with requests while another node leads.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::db::StoreError;

use super::handle::NodeRequest;
use super::node::{ControllerNode, NodeError, POLL_EVERY};
use super::peers::{LeaderAnswer, LeaderConnection};

/// The time between two looks for a leader of this host: it holds the folder already, and is about to listen.
const CONNECT_EVERY: Duration = Duration::from_millis(25);

/// News for a standby with a connection to the leader.
enum StandbyWakeup {
    Shutdown,
    /// The journal is to be read.
    Poll,
    /// `None` if every handle is gone.
    Request(Option<NodeRequest>),
    /// `None` if the connection has ended.
    Answers(Option<Vec<LeaderAnswer>>),
}

impl ControllerNode {
    /// Serves requests until the node should look for the leader again. With a leader on this host, this lasts as long as
    /// the connection to it, and the view follows the journal. Otherwise it lasts until the next read of the journal.
    pub(super) async fn serve_standby(
        &mut self,
        shutdown: &mut ShutdownReceiver,
    ) -> Result<(), NodeError> {
        self.connect(shutdown).await;
        let Some(mut leader) = self.leader.take() else {
            self.refuse_requests(shutdown).await;
            return Ok(());
        };
        let served = self.serve_connected(&mut leader, shutdown).await;
        self.views.set_connected(false);
        served
    }

    /// Connects to the leader of this host, if there is one.
    async fn connect(&mut self, shutdown: &mut ShutdownReceiver) {
        let Some(socket) = &self.config.leader_socket else { return };
        tokio::select! {
            () = shutdown.wait() => {}
            opened = LeaderConnection::open(socket) => match opened {
                Ok(opened) => {
                    self.leader = Some(opened);
                    self.views.set_connected(true);
                }
                // The leader has just ended, or is about to listen.
                Err(error) if is_passing(&error) => {}
                Err(error) => self.views.set_stalled(Some(silent_leader(socket, &error.to_string()))),
            },
        }
    }

    async fn serve_connected(
        &mut self,
        leader: &mut LeaderConnection,
        shutdown: &mut ShutdownReceiver,
    ) -> Result<(), NodeError> {
        let mut poll_at = Instant::now();
        loop {
            let wakeup = tokio::select! {
                biased;
                () = shutdown.wait() => StandbyWakeup::Shutdown,
                answers = leader.next_answers() => StandbyWakeup::Answers(answers),
                () = sleep_until(poll_at) => StandbyWakeup::Poll,
                request = self.inbox.recv() => StandbyWakeup::Request(request),
            };
            match wakeup {
                StandbyWakeup::Shutdown
                | StandbyWakeup::Request(None)
                | StandbyWakeup::Answers(None) => {
                    return Ok(());
                }
                StandbyWakeup::Request(Some(request)) => leader.pass_on(request),
                StandbyWakeup::Answers(Some(answers)) => {
                    // The caller finds the events of its request in the view.
                    self.follow_connected(leader).await?;
                    answers.into_iter().for_each(LeaderAnswer::release);
                }
                StandbyWakeup::Poll => {
                    leader.ping();
                    self.follow_connected(leader).await?;
                    poll_at = Instant::now() + POLL_EVERY;
                }
            }
        }
    }

    /// Applies the rest of the journal, and notes whether the leader answers.
    async fn follow_connected(&self, leader: &LeaderConnection) -> Result<(), NodeError> {
        let caught_up = self.catch_up().await;
        self.tolerate_unavailable(caught_up)?;
        if let (true, Some(socket)) = (leader.is_silent(), &self.config.leader_socket) {
            let why = "its process is stopped, or the machine is overloaded";
            self.views.set_stalled(Some(silent_leader(socket, why)));
        }
        Ok(())
    }

    /// Refuses requests until the next read of the journal.
    async fn refuse_requests(&mut self, shutdown: &mut ShutdownReceiver) {
        let pause = if self.config.leader_socket.is_some() { CONNECT_EVERY } else { POLL_EVERY };
        let until = Instant::now() + pause;
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                // Dropping a request answers it with `NotLeader`.
                asked = timeout_at(until, self.inbox.recv()) => match asked {
                    Ok(Some(_)) => {}
                    // Every handle is dropped; the node continues to stand by.
                    Ok(None) => return sleep_until(until).await,
                    Err(_) => return,
                }
            }
        }
    }
}

/// Returns whether there may be a leader to connect to in a moment.
fn is_passing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;

    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::UnexpectedEof
    )
}

fn silent_leader(socket: &Path, reason: &str) -> StoreError {
    let place = socket.parent().unwrap_or(socket).display().to_string();
    let reason = format!("another process leads it and does not answer: {reason}");
    StoreError::Unavailable { place, reason }
}
