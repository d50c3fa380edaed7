//! The leader's end of links through mailboxes, beside a controller's API.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::cli::output::{LogLevel, Logger};
use crate::clock::ProcessClock;
use crate::controller::mailbox_server::{MailboxServer, MailboxServerError, MailboxServerOptions};
use crate::controller::{EngineView, LogIngest, NodeHandle, RunHistories};
use crate::link::mailbox::{MailboxKey, Mailboxes, UnreadableMessage};
use crate::logs::NotifyingLogStore;
use crate::shutdown::{ShutdownReceiver, ShutdownSender};

/// How often it is looked whether this node leads.
const LEADER_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The pause before a place is tried again that could not be used.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Kinds of letters that cannot be read.
const UNREADABLE_MAX: usize = 4;

/// A place where workers may leave letters for whoever leads.
#[derive(Clone, Debug)]
pub(crate) struct MailboxEndpoint {
    /// Where.
    pub(crate) mailboxes: Arc<dyn Mailboxes>,
    /// What proves letters.
    pub(crate) key: MailboxKey,
}

/// Answers letters whenever this node leads.
#[derive(Debug)]
pub(super) struct MailboxService {
    pub(super) place: MailboxEndpoint,
    /// Who leads, for others who would.
    pub(super) leader_name: String,
    pub(super) cluster: String,
    pub(super) handle: NodeHandle,
    pub(super) histories: Arc<RunHistories>,
    pub(super) logs: Arc<NotifyingLogStore>,
    pub(super) log: Logger,
}

impl MailboxService {
    /// Answers until it is told to end. A place that fails is tried again: the controller has others, and its API.
    pub(super) async fn run(self, mut shutdown: ShutdownReceiver) {
        while !shutdown.is_due() {
            if !self.leads() {
                self.wait(&mut shutdown, LEADER_POLL_INTERVAL).await;
                continue;
            }
            if let Err(error) = self.serve(&mut shutdown).await {
                let what = format!("workers cannot join by letters: {error}; trying again");
                self.log.log_message(LogLevel::Warn, what);
                self.wait(&mut shutdown, RETRY_PAUSE).await;
            }
        }
    }

    /// Answers as long as this node leads.
    async fn serve(&self, shutdown: &mut ShutdownReceiver) -> Result<(), MailboxServerError> {
        let MailboxEndpoint { mailboxes, key } = self.place.clone();
        let (handle, place) = (self.handle.clone(), mailboxes.place());
        let logs = Arc::clone(&self.logs);
        let intake = LogIngest::new(handle.clone(), Arc::clone(&self.histories), logs);
        let terms = MailboxServerOptions {
            clock: ProcessClock::since_boot(),
            ..MailboxServerOptions::of(self.leader_name.clone())
        };
        let bound =
            MailboxServer::bind((mailboxes, key), terms, self.cluster.clone(), (handle, intake));
        let desk = tokio::select! {
            () = shutdown.wait() => return Ok(()),
            desk = bound => desk?,
        };
        self.log.log_message(LogLevel::Info, format!("workers can join by letters at {place}"));
        let (sender, ends) = ShutdownSender::new();
        let (notes, unread) = mpsc::channel(UNREADABLE_MAX);
        let desk = desk.with_unread_channel(notes).run(ends);
        tokio::pin!(desk);
        tokio::select! {
            ended = &mut desk => return ended,
            () = shutdown.wait() => {}
            () = self.lost_leadership() => {}
            () = self.log_unreadable(unread) => {}
        }
        sender.shut_down();
        desk.await
    }

    /// Tells of letters that cannot be read, for ever.
    async fn log_unreadable(&self, mut unread: mpsc::Receiver<UnreadableMessage>) {
        while let Some(why) = unread.recv().await {
            self.log
                .log_message(LogLevel::Warn, format!("at {}: {why}", self.place.mailboxes.place()));
        }
        pending::<()>().await;
    }

    async fn lost_leadership(&self) {
        while self.leads() {
            sleep(LEADER_POLL_INTERVAL).await;
        }
    }

    fn leads(&self) -> bool {
        self.handle.views().look(EngineView::leads)
    }

    async fn wait(&self, shutdown: &mut ShutdownReceiver, pause: Duration) {
        tokio::select! {
            () = shutdown.wait() => {}
            () = sleep(pause) => {}
        }
    }
}
