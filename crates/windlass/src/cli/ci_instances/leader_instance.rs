//! What instance 0 does beside running the pipeline.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;
use windlass_core::engine::{CancelLevel, EngineRequest, UnplaceablePolicy};
use windlass_core::instance::{InstanceRendezvous, RunFinalStatus};
use windlass_core::summary::RunSummary;
use windlass_core::time::{Span, Time};

use super::expected_workers::other_workers;
use super::partial_retry;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::clock::ProcessClock;
use crate::controller::mailbox_server::{
    LeaderFinalStatus as Left, MailboxServer, MailboxServerError, MailboxServerOptions,
};
use crate::controller::{LogIngest, NodeHandle};
use crate::embedded::{EMBEDDED_LEASE_TTL, EmbeddedNode};
use crate::link::mailbox::{MailboxError, MailboxKey, Mailboxes, UnreadableMessage};
use crate::logs::LogStore;
use crate::shutdown::ShutdownSender;
use crate::worker::guard::GuardHandle;

/// Wishes of other instances that wait: the first two mean something.
const CANCEL_REQUESTS_MAX: usize = 4;

/// Kinds of letters that cannot be read.
const UNREADABLE_MAX: usize = 4;

/// How long after the end of its binding instance 0 may still say why it ends, before its guard ends its steps and, if
/// functions run in it, itself. It is less than what is left of the shortest binding then.
const FINAL_STATUS_GRACE: Span = Span::millis(250);

/// How long it may take until it is known that the link has failed, where something else failed because of it.
const LINK_FAILURE_WITHIN: Duration = Duration::from_secs(1);

/// How instance 0 leads.
#[derive(Debug)]
pub(crate) struct LeaderInstanceOptions {
    /// Where the others are met.
    pub(crate) mailboxes: Arc<dyn Mailboxes>,
    /// What proves letters.
    pub(crate) key: MailboxKey,
    /// How many instances there are.
    pub(crate) total: u32,
    /// Under which name they meet.
    pub(crate) meeting: InstanceRendezvous,
    /// Others that are waited for before it begins.
    pub(crate) min_workers: u32,
    /// How long they are waited for.
    pub(crate) patience: Duration,
    /// How long one that has not come is still expected once the run has begun.
    pub(crate) expected_for: Duration,
    /// What becomes of a step that none of them can run.
    pub(crate) unplaceable: UnplaceablePolicy,
    /// How long it goes on without the link, which keeps its place for as long.
    pub(crate) link_grace: Duration,
    /// How long a step belongs to another instance that is not heard, if that was set.
    pub(crate) lease_ttl: Option<Span>,
    /// How often the others exchange at least.
    pub(crate) heartbeat: Option<Span>,
}

impl LeaderInstanceOptions {
    /// The name of its own worker.
    pub(crate) const WORKER: &str = "instance-0";

    /// How long a step belongs to another instance that is not heard.
    pub(crate) fn ttl(&self) -> Span {
        self.lease_ttl.unwrap_or(EMBEDDED_LEASE_TTL)
    }

    /// What is said when it begins.
    pub(crate) fn greeting(&self) -> String {
        let (name, place) = (&self.meeting.name, self.mailboxes.place());
        format!("instance 0 of {} leads {name}; the others join at {place}", self.total)
    }

    /// What is said at the end, if the others had no part in it.
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
                let what = format!("instance 0 of {name} is there already: {by} leads");
                CliError::usage(what).hint("two of them would do everything twice")
            }
            MailboxError::Finished { final_status: epitaph } => {
                CliError::usage(format!("{name} is over: {epitaph}")).hint(
                    "to run it again, start all instances under another name (--run-id): \
                     a job that is repeated alone finds its run ended",
                )
            }
            error => CliError::unreachable(format!("{place}: {error}")),
        }
    }
}

/// The leader's end of the link, while it is at work.
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

/// What comes of the link beside letters.
pub(crate) enum InstanceMailboxEvent {
    /// An instance wants the run to end.
    Cancel(CancelLevel),
    /// Somebody sends what cannot be read.
    Unread(UnreadableMessage),
    /// It cannot be gone on with.
    Failed(CliError),
}

impl InstanceMailboxServer {
    /// Binds the link, or says who leads there.
    pub(crate) async fn open(
        leading: &Arc<LeaderInstanceOptions>,
        station: &EmbeddedNode,
        logs: Arc<dyn LogStore>,
    ) -> Result<Self, CliError> {
        let host = environment::host_name();
        let by = format!("instance 0 on {host} (process {})", std::process::id());
        // It leads for as long as the link keeps its place, and no longer.
        let (term, link_grace) = (leading.link_grace, leading.link_grace);
        let terms =
            MailboxServerOptions { by, term, link_grace, clock: ProcessClock::since_boot() };
        let handle = station.handle().clone();
        let intake = LogIngest::new(handle.clone(), Arc::clone(station.histories()), logs);
        let at = (Arc::clone(&leading.mailboxes), leading.key.clone());
        let desk =
            MailboxServer::bind(at, terms, leading.meeting.name.clone(), (handle, intake)).await;
        let (wants, wishes) = mpsc::channel(CANCEL_REQUESTS_MAX);
        let (notes, unread) = mpsc::channel(UNREADABLE_MAX);
        let desk = desk
            .map_err(|error| leading.explain_mailbox_error(error))?
            .with_cancel_channel(wants)
            .with_unread_channel(notes);
        let (shutdown, ends) = ShutdownSender::new();
        let (epitaph, acts_until) = (desk.final_status(), desk.binding_valid_until());
        let follows_another = desk.follows_another();
        if follows_another {
            // Before any other instance is answered. A leader that has ended grants nothing, and says so where the run is begun.
            drop(station.handle().ask(EngineRequest::Embargo { lasts: leading.ttl() }).await);
        }
        let desk = tokio::spawn(desk.run(ends));
        let leading = Arc::clone(leading);
        Ok(Self {
            server_task: desk,
            shutdown,
            final_status: epitaph,
            cancel_requests: wishes,
            unreadable: unread,
            leading,
            follows_another,
            acts_until,
        })
    }

    /// Whether another instance 0 has led there, and did not end the run: a step that it gave to another instance may hold a
    /// lock for another lease, and locks are held back for as long.
    pub(crate) const fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// Has the guard end the steps of this process when the binding is over, also if this process is stopped or waits for
    /// its terminal. To be called before the first step.
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

    /// Why the link has failed, if that is why something else has.
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

    /// Waits for something that is not answered by a letter.
    pub(crate) async fn next(&mut self) -> InstanceMailboxEvent {
        tokio::select! {
            Some(level) = self.cancel_requests.recv() => InstanceMailboxEvent::Cancel(level),
            Some(why) = self.unreadable.recv() => InstanceMailboxEvent::Unread(why),
            ended = &mut self.server_task => InstanceMailboxEvent::Failed(self.failed(ended)),
        }
    }

    /// Tells everybody what became of the run, and those who come later.
    pub(crate) async fn end(self, summary: &RunSummary) {
        self.close_with_status(&RunFinalStatus::new(&summary.run().to_string(), summary.status()))
            .await;
    }

    /// Tells everybody that there will be no run.
    pub(crate) async fn announce_no_run(self) {
        let epitaph = RunFinalStatus::never_started(&self.leading.meeting.name);
        self.close_with_status(&epitaph).await;
    }

    async fn close_with_status(self, epitaph: &RunFinalStatus) {
        self.final_status.write(epitaph.to_string());
        self.shutdown.shut_down();
        drop(self.server_task.await);
    }
}
