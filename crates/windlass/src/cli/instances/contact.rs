//! Whether a link is reached.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::link::post::{
    Epoch, Letter, Links, MailError, Mailbox, Mailboxes, Mailed, Site, Standing,
};

/// How often it is looked whether a link has been away for too long.
const LOOKS_EVERY: Duration = Duration::from_millis(250);

/// What is known of the way to a link. A clone knows the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Contact(Arc<Mutex<Option<Away>>>);

/// A link that is not reached.
#[derive(Clone, Debug)]
struct Away {
    since: Instant,
    why: String,
}

impl Contact {
    /// Waits until the link has not been reached for so long; why it was not.
    pub(super) async fn lost(&self, grace: Duration) -> String {
        loop {
            let away = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(away) = away.filter(|away| away.since.elapsed() > grace) {
                return away.why;
            }
            sleep(LOOKS_EVERY).await;
        }
    }

    fn heard<T>(&self, came: Result<T, MailError>) -> Result<T, MailError> {
        let mut away = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &came {
            Err(error @ MailError::Unreachable { .. }) => {
                let since = away.as_ref().map_or_else(Instant::now, |away| away.since);
                *away = Some(Away { since, why: error.to_string() });
            }
            // Whatever it answered, it was reached.
            Ok(_) | Err(_) => *away = None,
        }
        came
    }
}

/// The same links, those of a scheme watched.
pub(super) fn watched(links: &Links, scheme: &str) -> (Links, Contact) {
    let (contact, inner) = (Contact::default(), links.clone());
    let heard = contact.clone();
    let open = move |site: &Site| -> Result<Arc<dyn Mailboxes>, MailError> {
        Ok(Arc::new(Watched { inner: inner.open(site)?, contact: heard.clone() }))
    };
    (links.clone().with(scheme, open), contact)
}

/// Mailboxes that are watched.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn Mailboxes>,
    contact: Contact,
}

impl Mailboxes for Watched {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn bind(&self, by: String, term: Duration) -> Mailed<'_, Epoch> {
        Box::pin(async move { self.contact.heard(self.inner.bind(by, term).await) })
    }

    fn keep(&self, epoch: Epoch, term: Duration) -> Mailed<'_, ()> {
        Box::pin(async move { self.contact.heard(self.inner.keep(epoch, term).await) })
    }

    fn unbind(&self, epoch: Epoch, epitaph: Option<String>) -> Mailed<'_, ()> {
        Box::pin(async move { self.contact.heard(self.inner.unbind(epoch, epitaph).await) })
    }

    fn look(&self) -> Mailed<'_, Standing> {
        Box::pin(async move { self.contact.heard(self.inner.look().await) })
    }

    fn send(&self, letters: Vec<Letter>) -> Mailed<'_, ()> {
        Box::pin(async move { self.contact.heard(self.inner.send(letters).await) })
    }

    fn receive(&self, mailbox: Mailbox, within: Duration) -> Mailed<'_, Vec<Vec<u8>>> {
        Box::pin(async move { self.contact.heard(self.inner.receive(mailbox, within).await) })
    }
}
