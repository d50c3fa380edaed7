//! What instance 0 does beside running the pipeline.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;
use windlass_core::engine::{CancelLevel, Request, Unplaceable};
use windlass_core::instance::{Epitaph, Meeting};
use windlass_core::summary::Summary;
use windlass_core::time::{Span, Time};

use super::again;
use super::gathering::others;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::clock::Clock;
use crate::controller::post::{Desk, Epitaph as Left, PostError, Terms};
use crate::controller::{Handle, Intake};
use crate::link::post::{Key, MailError, Mailboxes, Unread};
use crate::local::{Station, TTL};
use crate::logs::LogStore;
use crate::shutdown::ShutdownSender;
use crate::worker::guard::Guard;

/// Wishes of other instances that wait: the first two mean something.
const WISHES_MAX: usize = 4;

/// Kinds of letters that cannot be read.
const UNREAD_MAX: usize = 4;

/// How long after the end of its binding instance 0 may still say why it ends, before its guard ends its steps and, if
/// functions run in it, itself. It is less than what is left of the shortest binding then.
const LAST_WORDS: Span = Span::millis(250);

/// How long it may take until it is known that the link has failed, where something else failed because of it.
const KNOWN_WITHIN: Duration = Duration::from_secs(1);

/// How instance 0 leads.
#[derive(Debug)]
pub(crate) struct Leading {
    /// Where the others are met.
    pub(crate) mailboxes: Arc<dyn Mailboxes>,
    /// What proves letters.
    pub(crate) key: Key,
    /// How many instances there are.
    pub(crate) total: u32,
    /// Under which name they meet.
    pub(crate) meeting: Meeting,
    /// Others that are waited for before it begins.
    pub(crate) min_workers: u32,
    /// How long they are waited for.
    pub(crate) patience: Duration,
    /// How long one that has not come is still expected once the run has begun.
    pub(crate) expected_for: Duration,
    /// What becomes of a step that none of them can run.
    pub(crate) unplaceable: Unplaceable,
    /// How long it goes on without the link, which keeps its place for as long.
    pub(crate) link_grace: Duration,
    /// How long a step belongs to another instance that is not heard, if that was set.
    pub(crate) lease_ttl: Option<Span>,
    /// How often the others exchange at least.
    pub(crate) heartbeat: Option<Span>,
}

impl Leading {
    /// The name of its own worker.
    pub(crate) const WORKER: &str = "instance-0";

    /// How long a step belongs to another instance that is not heard.
    pub(crate) fn ttl(&self) -> Span {
        self.lease_ttl.unwrap_or(TTL)
    }

    /// What is said when it begins.
    pub(crate) fn greeting(&self) -> String {
        let (name, place) = (&self.meeting.name, self.mailboxes.place());
        format!("instance 0 of {} leads {name}; the others join at {place}", self.total)
    }

    /// What is said at the end, if the others had no part in it.
    pub(crate) fn nobody_joined(&self, handle: &Handle, summary: &Summary) -> Option<String> {
        let alone = summary.workers_met() < 2 && others(handle).is_empty();
        alone.then(|| again::nobody_joined(&self.meeting, self.total))
    }

    fn explained(&self, error: PostError) -> CliError {
        let name = &self.meeting.name;
        let PostError::Mail { place, error } = error else {
            return CliError::unreachable(error.to_string());
        };
        match error {
            MailError::AlreadyLed { by } => {
                let what = format!("instance 0 of {name} is there already: {by} leads");
                CliError::usage(what).hint("two of them would do everything twice")
            }
            MailError::Over { epitaph } => CliError::usage(format!("{name} is over: {epitaph}"))
                .hint(
                    "to run it again, start all instances under another name (--run-id): \
                     a job that is repeated alone finds its run ended",
                ),
            error => CliError::unreachable(format!("{place}: {error}")),
        }
    }
}

/// The leader's end of the link, while it is at work.
#[derive(Debug)]
pub(crate) struct Post {
    desk: JoinHandle<Result<(), PostError>>,
    shutdown: ShutdownSender,
    epitaph: Left,
    wishes: mpsc::Receiver<CancelLevel>,
    unread: mpsc::Receiver<Unread>,
    leading: Arc<Leading>,
    follows_another: bool,
    acts_until: watch::Receiver<Option<Time>>,
}

/// What comes of the link beside letters.
pub(crate) enum PostNews {
    /// An instance wants the run to end.
    Cancel(CancelLevel),
    /// Somebody sends what cannot be read.
    Unread(Unread),
    /// It cannot be gone on with.
    Failed(CliError),
}

impl Post {
    /// Binds the link, or says who leads there.
    pub(crate) async fn open(
        leading: &Arc<Leading>,
        station: &Station,
        logs: Arc<dyn LogStore>,
    ) -> Result<Self, CliError> {
        let host = environment::host_name();
        let by = format!("instance 0 on {host} (process {})", std::process::id());
        // It leads for as long as the link keeps its place, and no longer.
        let (term, link_grace) = (leading.link_grace, leading.link_grace);
        let terms = Terms { by, term, link_grace, clock: Clock::of_machine() };
        let handle = station.handle().clone();
        let intake = Intake::new(handle.clone(), Arc::clone(station.histories()), logs);
        let at = (Arc::clone(&leading.mailboxes), leading.key.clone());
        let desk = Desk::bind(at, terms, leading.meeting.name.clone(), (handle, intake)).await;
        let (wants, wishes) = mpsc::channel(WISHES_MAX);
        let (notes, unread) = mpsc::channel(UNREAD_MAX);
        let desk = desk.map_err(|error| leading.explained(error))?.obeying(wants).noting(notes);
        let (shutdown, ends) = ShutdownSender::new();
        let (epitaph, acts_until) = (desk.epitaph(), desk.acts_until());
        let follows_another = desk.follows_another();
        if follows_another {
            // Before any other instance is answered. A leader that has ended grants nothing, and says so where the run is begun.
            drop(station.handle().ask(Request::Embargo { lasts: leading.ttl() }).await);
        }
        let desk = tokio::spawn(desk.run(ends));
        let leading = Arc::clone(leading);
        Ok(Self { desk, shutdown, epitaph, wishes, unread, leading, follows_another, acts_until })
    }

    /// Whether another instance 0 has led there, and did not end the run: a step that it gave to another instance may hold a
    /// lock for another lease, and locks are held back for as long.
    pub(crate) const fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// Has the guard end the steps of this process when the binding is over, also if this process is stopped or waits for
    /// its terminal. To be called before the first step.
    pub(crate) async fn bind_steps(&self, guard: Guard) {
        let mut acts_until = self.acts_until.clone();
        let first = *acts_until.borrow_and_update();
        guard.expire_at(first.map(|until| until + LAST_WORDS)).await;
        tokio::spawn(async move {
            while acts_until.changed().await.is_ok() {
                let until = *acts_until.borrow_and_update();
                guard.expire_at(until.map(|until| until + LAST_WORDS)).await;
            }
        });
    }

    /// Why the link has failed, if that is why something else has.
    pub(crate) async fn failure(&mut self) -> Option<CliError> {
        let ended = timeout(KNOWN_WITHIN, &mut self.desk).await.ok()?;
        Some(self.failed(ended))
    }

    fn failed(&self, ended: Result<Result<(), PostError>, JoinError>) -> CliError {
        match ended {
            Ok(Err(error)) => self.leading.explained(error),
            Ok(Ok(())) => CliError::unreachable("the link has ended"),
            Err(error) => CliError::unreachable(format!("a part of windlass has failed: {error}")),
        }
    }

    /// Waits for something that is not answered by a letter.
    pub(crate) async fn next(&mut self) -> PostNews {
        tokio::select! {
            Some(level) = self.wishes.recv() => PostNews::Cancel(level),
            Some(why) = self.unread.recv() => PostNews::Unread(why),
            ended = &mut self.desk => PostNews::Failed(self.failed(ended)),
        }
    }

    /// Tells everybody what became of the run, and those who come later.
    pub(crate) async fn end(self, summary: &Summary) {
        self.leave(&Epitaph::new(&summary.run().to_string(), summary.status())).await;
    }

    /// Tells everybody that there will be no run.
    pub(crate) async fn call_off(self) {
        let epitaph = Epitaph::called_off(&self.leading.meeting.name);
        self.leave(&epitaph).await;
    }

    async fn leave(self, epitaph: &Epitaph) {
        self.epitaph.write(epitaph.to_string());
        self.shutdown.shut_down();
        drop(self.desk.await);
    }
}
