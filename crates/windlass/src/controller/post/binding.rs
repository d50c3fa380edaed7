//! Being bound to a place, and staying so.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::link::post::{Epoch, MailError, Mailboxes};

/// The pause between two tries to be bound.
const PAUSE: Duration = Duration::from_millis(250);

/// On which terms a leader is bound to its place.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Who it is, for those who are refused because of it.
    pub by: String,
    /// How long the binding lasts without a sign of life.
    pub term: Duration,
    /// How long it goes on without the place.
    pub link_grace: Duration,
}

impl Terms {
    /// The usual ones. A term is as long as that of a leader of a cluster; the grace outlasts a restart of the place.
    pub fn of(by: String) -> Self {
        Self { by, term: Duration::from_secs(6), link_grace: Duration::from_mins(1) }
    }
}

/// Why a leader's end could not begin, or go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The place says so.
    #[error("{place}: {error}")]
    Mail {
        /// Where.
        place: String,
        /// What.
        error: MailError,
    },
    /// The place was not reached for too long.
    #[error("no contact with {place} for {} s: {last}", waited.as_secs())]
    NoLink {
        /// Where.
        place: String,
        /// How long.
        waited: Duration,
        /// What went wrong last.
        last: String,
    },
}

/// A leader's hold on its place.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) mailboxes: Arc<dyn Mailboxes>,
    pub(super) epoch: Epoch,
    terms: Terms,
}

impl Binding {
    /// Binds the place. A leader that died is bound until its term is over: it is waited for that long before somebody is
    /// refused because of it, for one that lives keeps its binding.
    pub(super) async fn new(
        mailboxes: Arc<dyn Mailboxes>,
        terms: Terms,
    ) -> Result<Self, PostError> {
        let began = Instant::now();
        // From then on: what was asked before may have been bound itself, without its knowing.
        let mut led_since = None;
        loop {
            let error = match mailboxes.bind(terms.by.clone(), terms.term).await {
                Ok(epoch) => return Ok(Self { mailboxes, epoch, terms }),
                Err(error) => error,
            };
            let over = if matches!(error, MailError::AlreadyLed { .. }) {
                led_since.get_or_insert_with(Instant::now).elapsed() > terms.term + PAUSE
            } else {
                led_since = None;
                !error.is_retryable()
            };
            if over {
                return Err(PostError::Mail { place: mailboxes.place(), error });
            }
            let waited = began.elapsed();
            if led_since.is_none() && waited > terms.link_grace {
                return Err(no_link(&*mailboxes, waited, &error));
            }
            sleep(PAUSE).await;
        }
    }

    /// Keeps the binding until that fails for good.
    pub(super) async fn keep(&self) -> PostError {
        let mut kept = Instant::now();
        loop {
            sleep(self.terms.term / 4).await;
            let asked = Instant::now();
            match self.mailboxes.keep(self.epoch, self.terms.term).await {
                Ok(()) => kept = asked,
                Err(error) if !error.is_retryable() => return self.failed(error),
                Err(error) if kept.elapsed() > self.terms.link_grace => {
                    return no_link(&*self.mailboxes, kept.elapsed(), &error);
                }
                Err(_) => {}
            }
        }
    }

    pub(super) fn failed(&self, error: MailError) -> PostError {
        PostError::Mail { place: self.mailboxes.place(), error }
    }
}

fn no_link(mailboxes: &dyn Mailboxes, waited: Duration, last: &MailError) -> PostError {
    PostError::NoLink { place: mailboxes.place(), waited, last: last.to_string() }
}
