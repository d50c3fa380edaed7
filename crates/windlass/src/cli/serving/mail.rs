//! The leader's end of links through mailboxes, beside a controller's API.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::cli::output::{Level, Logger};
use crate::clock::Clock;
use crate::controller::post::{Desk, PostError, Terms};
use crate::controller::{Handle, Histories, Intake, View};
use crate::link::post::{Key, Mailboxes, Unread};
use crate::logs::Announced;
use crate::shutdown::{Shutdown, ShutdownSender};

/// How often it is looked whether this node leads.
const LOOKS_EVERY: Duration = Duration::from_millis(250);

/// The pause before a place is tried again that could not be used.
const PAUSE: Duration = Duration::from_secs(5);

/// Kinds of letters that cannot be read.
const UNREAD_MAX: usize = 4;

/// A place where workers may leave letters for whoever leads.
#[derive(Clone, Debug)]
pub(crate) struct MailPlace {
    /// Where.
    pub(crate) mailboxes: Arc<dyn Mailboxes>,
    /// What proves letters.
    pub(crate) key: Key,
}

/// Answers letters whenever this node leads.
#[derive(Debug)]
pub(super) struct MailRoom {
    pub(super) place: MailPlace,
    /// Who leads, for others who would.
    pub(super) by: String,
    pub(super) cluster: String,
    pub(super) handle: Handle,
    pub(super) histories: Arc<Histories>,
    pub(super) logs: Arc<Announced>,
    pub(super) log: Logger,
}

impl MailRoom {
    /// Answers until it is told to end. A place that fails is tried again: the controller has others, and its API.
    pub(super) async fn run(self, mut shutdown: Shutdown) {
        while !shutdown.is_due() {
            if !self.leads() {
                self.wait(&mut shutdown, LOOKS_EVERY).await;
                continue;
            }
            if let Err(error) = self.serve(&mut shutdown).await {
                let what = format!("workers cannot join by letters: {error}; trying again");
                self.log.note(Level::Warn, what);
                self.wait(&mut shutdown, PAUSE).await;
            }
        }
    }

    /// Answers as long as this node leads.
    async fn serve(&self, shutdown: &mut Shutdown) -> Result<(), PostError> {
        let MailPlace { mailboxes, key } = self.place.clone();
        let (handle, place) = (self.handle.clone(), mailboxes.place());
        let logs = Arc::clone(&self.logs);
        let intake = Intake::new(handle.clone(), Arc::clone(&self.histories), logs);
        let terms = Terms { clock: Clock::of_machine(), ..Terms::of(self.by.clone()) };
        let bound = Desk::bind((mailboxes, key), terms, self.cluster.clone(), (handle, intake));
        let desk = tokio::select! {
            () = shutdown.wait() => return Ok(()),
            desk = bound => desk?,
        };
        self.log.note(Level::Info, format!("workers can join by letters at {place}"));
        let (sender, ends) = ShutdownSender::new();
        let (notes, unread) = mpsc::channel(UNREAD_MAX);
        let desk = desk.noting(notes).run(ends);
        tokio::pin!(desk);
        tokio::select! {
            ended = &mut desk => return ended,
            () = shutdown.wait() => {}
            () = self.deposed() => {}
            () = self.tell(unread) => {}
        }
        sender.shut_down();
        desk.await
    }

    /// Tells of letters that cannot be read, for ever.
    async fn tell(&self, mut unread: mpsc::Receiver<Unread>) {
        while let Some(why) = unread.recv().await {
            self.log.note(Level::Warn, format!("at {}: {why}", self.place.mailboxes.place()));
        }
        pending::<()>().await;
    }

    async fn deposed(&self) {
        while self.leads() {
            sleep(LOOKS_EVERY).await;
        }
    }

    fn leads(&self) -> bool {
        self.handle.views().look(View::leads)
    }

    async fn wait(&self, shutdown: &mut Shutdown, pause: Duration) {
        tokio::select! {
            () = shutdown.wait() => {}
            () = sleep(pause) => {}
        }
    }
}
