//! The leader's end of mailbox links, beside a controller's API.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::{info, warn};
use windlass_controller::mailbox_server::{
    MailboxServer, MailboxServerError, MailboxServerOptions,
};
use windlass_controller::{EngineView, LogIngest, NodeHandle, RunHistories};
use windlass_link::mailbox::{MailboxKey, Mailboxes, UnreadableMessage};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};
use windlass_store::logs::NotifyingLogStore;

/// How often to check whether this node leads.
const LEADER_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The pause before mailboxes that failed are tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Kinds of unreadable messages that are queued for the log.
const UNREADABLE_MAX: usize = 4;

/// Mailboxes through which workers reach the leader.
#[derive(Clone, Debug)]
pub(crate) struct MailboxEndpoint {
    /// The mailboxes.
    pub(crate) mailboxes: Arc<dyn Mailboxes>,
    /// The key that authenticates messages.
    pub(crate) key: MailboxKey,
}

/// Answers mailbox messages whenever this node leads.
#[derive(Debug)]
pub(super) struct MailboxService {
    pub(super) endpoint: MailboxEndpoint,
    /// The name of this leader, shown to other controllers.
    pub(super) leader_name: String,
    pub(super) cluster: String,
    pub(super) handle: NodeHandle,
    pub(super) histories: Arc<RunHistories>,
    pub(super) logs: Arc<NotifyingLogStore>,
}

impl MailboxService {
    /// Answers until shutdown. Mailboxes that fail are tried again: the controller has others, and its API.
    pub(super) async fn run(self, mut shutdown: ShutdownReceiver) {
        while !shutdown.is_due() {
            if !self.leads() {
                self.wait(&mut shutdown, LEADER_POLL_INTERVAL).await;
                continue;
            }
            if let Err(error) = self.serve(&mut shutdown).await {
                let what = format!("workers cannot join by mailbox: {error}; trying again");
                warn!("{what}");
                self.wait(&mut shutdown, RETRY_PAUSE).await;
            }
        }
    }

    /// Answers while this node leads.
    async fn serve(&self, shutdown: &mut ShutdownReceiver) -> Result<(), MailboxServerError> {
        let MailboxEndpoint { mailboxes, key } = self.endpoint.clone();
        let (handle, place) = (self.handle.clone(), mailboxes.place());
        let logs = Arc::clone(&self.logs);
        let intake = LogIngest::new(handle.clone(), Arc::clone(&self.histories), logs);
        let terms = MailboxServerOptions {
            clock: ProcessClock::since_boot(),
            ..MailboxServerOptions::of(self.leader_name.clone())
        };
        let bound =
            MailboxServer::bind((mailboxes, key), terms, self.cluster.clone(), (handle, intake));
        let server = tokio::select! {
            () = shutdown.wait() => return Ok(()),
            server = bound => server?,
        };
        info!("workers can join by mailbox at {place}");
        let (sender, ends) = ShutdownSender::new();
        let (notes, unread) = mpsc::channel(UNREADABLE_MAX);
        let server = server.with_unread_channel(notes).run(ends);
        tokio::pin!(server);
        tokio::select! {
            ended = &mut server => return ended,
            () = shutdown.wait() => {}
            () = self.lost_leadership() => {}
            () = self.log_unreadable(unread) => {}
        }
        sender.shut_down();
        server.await
    }

    /// Logs unreadable messages, forever.
    async fn log_unreadable(&self, mut unread: mpsc::Receiver<UnreadableMessage>) {
        while let Some(why) = unread.recv().await {
            warn!("at {}: {why}", self.endpoint.mailboxes.place());
        }
        pending::<()>().await;
    }

    async fn lost_leadership(&self) {
        while self.leads() {
            sleep(LEADER_POLL_INTERVAL).await;
        }
    }

    fn leads(&self) -> bool {
        self.handle.views().with(EngineView::leads)
    }

    async fn wait(&self, shutdown: &mut ShutdownReceiver, pause: Duration) {
        tokio::select! {
            () = shutdown.wait() => {}
            () = sleep(pause) => {}
        }
    }
}
