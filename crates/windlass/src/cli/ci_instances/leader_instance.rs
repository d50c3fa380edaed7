//! The leader's side of a shared run: everything instance 0 does besides running the pipeline.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;
use windlass_controller::mailbox_server::{
    LeaderFinalStatus as Left, MailboxServer, MailboxServerError, MailboxServerOptions,
};
use windlass_controller::{LogIngest, NodeHandle};
use windlass_core::engine::{CancelLevel, EngineCall, UnplaceablePolicy};
use windlass_core::instance::{InstanceRendezvous, RunFinalStatus};
use windlass_core::summary::RunSummary;
use windlass_core::time::{Span, Time};
use windlass_link::mailbox::{MailboxError, MailboxKey, Mailboxes, UnreadableMessage};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::LogStore;
use windlass_worker::guard::GuardHandle;

use super::expected_workers::other_workers;
use super::partial_retry;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::embedded::{EMBEDDED_LEASE_TTL, EmbeddedNode};

/// Queued cancel requests of other instances: only the first two have an effect.
const CANCEL_REQUESTS_MAX: usize = 4;

/// Kinds of unreadable messages that are queued for the log.
const UNREADABLE_MAX: usize = 4;

/// How long instance 0 may still report its final status after its binding ended, before its guard ends its steps
/// and, if functions run in it, the process. It is shorter than the rest of the shortest binding.
const FINAL_STATUS_GRACE: Span = Span::millis(250);

/// How long to wait for a link failure to be noticed when another part failed because of it.
const LINK_FAILURE_WITHIN: Duration = Duration::from_secs(1);

/// Options of instance 0.
#[derive(Debug)]
pub(crate) struct LeaderInstanceOptions {
    /// The mailboxes through which the others join.
    pub(crate) mailboxes: Arc<dyn Mailboxes>,
    /// The key that authenticates messages.
    pub(crate) key: MailboxKey,
    /// The number of instances.
    pub(crate) total: u32,
    /// The rendezvous name of the run.
    pub(crate) meeting: InstanceRendezvous,
    /// The number of other instances to wait for before the run starts.
    pub(crate) min_workers: u32,
    /// How long to wait for them.
    pub(crate) patience: Duration,
    /// How long a missing instance is still expected once the run has started.
    pub(crate) expected_for: Duration,
    /// The policy for a step that no instance can run.
    pub(crate) unplaceable: UnplaceablePolicy,
    /// How long instance 0 continues without the link; its binding lasts as long.
    pub(crate) link_grace: Duration,
    /// The lease duration of the other instances, if it was set.
    pub(crate) lease_ttl: Option<Span>,
    /// The longest interval between exchanges of the other instances.
    pub(crate) heartbeat: Option<Span>,
}

impl LeaderInstanceOptions {
    /// The name of its own worker.
    pub(crate) const WORKER: &str = "instance-0";

    /// The lease duration of the other instances.
    pub(crate) fn ttl(&self) -> Span {
        self.lease_ttl.unwrap_or(EMBEDDED_LEASE_TTL)
    }

    /// The message at the start.
    pub(crate) fn greeting(&self) -> String {
        let (name, place) = (&self.meeting.name, self.mailboxes.place());
        format!("instance 0 of {} leads {name}; the others join at {place}", self.total)
    }

    /// The message at the end if no other instance took part.
    pub(crate) fn no_instance_joined_note(
        &self,
        handle: &NodeHandle,
        summary: &RunSummary,
    ) -> Option<String> {
        let alone = summary.workers_met_count() < 2 && other_workers(handle).is_empty();
        alone.then(|| partial_retry::no_instance_joined_note(&self.meeting, self.total))
    }

    fn explain_mailbox_error(&self, error: MailboxServerError) -> CliError {
        let name = &self.meeting.name;
        let MailboxServerError::Mail { place, error } = error else {
            return CliError::unreachable(error.to_string());
        };
        match error {
            MailboxError::AlreadyLed { by } => {
                let what = format!("instance 0 of {name} is already running: {by} leads");
                CliError::usage(what).hint("two leaders would run every step twice")
            }
            MailboxError::Finished { final_status } => {
                CliError::usage(format!("{name} has ended: {final_status}")).hint(
                    "to run it again, start all instances under another name (--run-id): \
                     a single repeated job finds its run ended",
                )
            }
            error => CliError::unreachable(format!("{place}: {error}")),
        }
    }
}

/// The leader's end of the link while it runs.
#[derive(Debug)]
pub(crate) struct InstanceMailboxServer {
    server_task: JoinHandle<Result<(), MailboxServerError>>,
    shutdown: ShutdownSender,
    final_status: Left,
    cancel_requests: mpsc::Receiver<CancelLevel>,
    unreadable: mpsc::Receiver<UnreadableMessage>,
    leading: Arc<LeaderInstanceOptions>,
    follows_another: bool,
    acts_until: watch::Receiver<Option<Time>>,
}

/// An event from the link other than an answered message.
pub(crate) enum InstanceMailboxEvent {
    /// An instance requests that the run be cancelled.
    Cancel(CancelLevel),
    /// An unreadable message arrived.
    Unread(UnreadableMessage),
    /// The link cannot continue.
    Failed(CliError),
}

impl InstanceMailboxServer {
    /// Binds the link, or reports the current leader there.
    pub(crate) async fn open(
        leading: &Arc<LeaderInstanceOptions>,
        node: &EmbeddedNode,
        logs: Arc<dyn LogStore>,
    ) -> Result<Self, CliError> {
        let host = environment::host_name();
        let by = format!("instance 0 on {host} (process {})", std::process::id());
        // It leads for as long as its binding of the link lasts, and no longer.
        let (term, link_grace) = (leading.link_grace, leading.link_grace);
        let terms =
            MailboxServerOptions { by, term, link_grace, clock: ProcessClock::since_boot() };
        let handle = node.handle().clone();
        let intake = LogIngest::new(handle.clone(), Arc::clone(node.histories()), logs);
        let at = (Arc::clone(&leading.mailboxes), leading.key.clone());
        let server =
            MailboxServer::bind(at, terms, leading.meeting.name.clone(), (handle, intake)).await;
        let (sender, cancel_requests) = mpsc::channel(CANCEL_REQUESTS_MAX);
        let (notes, unread) = mpsc::channel(UNREADABLE_MAX);
        let server = server
            .map_err(|error| leading.explain_mailbox_error(error))?
            .with_cancel_channel(sender)
            .with_unread_channel(notes);
        let (shutdown, ends) = ShutdownSender::new();
        let (final_status, acts_until) = (server.final_status(), server.binding_valid_until());
        let follows_another = server.follows_another();
        if follows_another {
            // Before any other instance is answered: a leader that has ended grants nothing and reports that when the
            // run starts.
            drop(node.handle().call(EngineCall::embargo(leading.ttl())).await);
        }
        let server = tokio::spawn(server.run(ends));
        let leading = Arc::clone(leading);
        Ok(Self {
            server_task: server,
            shutdown,
            final_status,
            cancel_requests,
            unreadable: unread,
            leading,
            follows_another,
            acts_until,
        })
    }

    /// Whether an earlier instance 0 led there and did not end the run. One of its steps may still hold a lock, so
    /// locks are withheld for one more lease duration.
    pub(crate) const fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// Makes the guard end the steps of this process when the binding ends, even if this process is stopped or waits
    /// for its terminal. Call it before the first step.
    pub(crate) async fn bind_steps(&self, guard: GuardHandle) {
        let mut acts_until = self.acts_until.clone();
        let first = *acts_until.borrow_and_update();
        guard.expire_at(first.map(|until| until + FINAL_STATUS_GRACE)).await;
        tokio::spawn(async move {
            while acts_until.changed().await.is_ok() {
                let until = *acts_until.borrow_and_update();
                guard.expire_at(until.map(|until| until + FINAL_STATUS_GRACE)).await;
            }
        });
    }

    /// Returns the link's error if it explains another failure.
    pub(crate) async fn failure(&mut self) -> Option<CliError> {
        let ended = timeout(LINK_FAILURE_WITHIN, &mut self.server_task).await.ok()?;
        Some(self.failed(ended))
    }

    fn failed(&self, ended: Result<Result<(), MailboxServerError>, JoinError>) -> CliError {
        match ended {
            Ok(Err(error)) => self.leading.explain_mailbox_error(error),
            Ok(Ok(())) => CliError::unreachable("the link has ended"),
            Err(error) => CliError::unreachable(format!("a part of windlass has failed: {error}")),
        }
    }

    /// Waits for an event that needs no answer by message.
    pub(crate) async fn next(&mut self) -> InstanceMailboxEvent {
        tokio::select! {
            Some(level) = self.cancel_requests.recv() => InstanceMailboxEvent::Cancel(level),
            Some(why) = self.unreadable.recv() => InstanceMailboxEvent::Unread(why),
            ended = &mut self.server_task => InstanceMailboxEvent::Failed(self.failed(ended)),
        }
    }

    /// Sends the run's final status to all instances, including those that join later.
    pub(crate) async fn end(self, summary: &RunSummary) {
        self.close_with_status(&RunFinalStatus::new(&summary.run().to_string(), summary.status()))
            .await;
    }

    /// Tells all instances that there will be no run.
    pub(crate) async fn announce_no_run(self) {
        let final_status = RunFinalStatus::never_started(&self.leading.meeting.name);
        self.close_with_status(&final_status).await;
    }

    async fn close_with_status(self, final_status: &RunFinalStatus) {
        self.final_status.write(final_status.to_string());
        self.shutdown.shut_down();
        drop(self.server_task.await);
    }
}
