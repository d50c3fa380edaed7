//! Reachability of a link.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_link::mailbox::{
    BindingEpoch, MailboxAddress, MailboxBinding, MailboxError, MailboxFuture, MailboxId,
    MailboxMessage, MailboxRegistry, Mailboxes,
};

/// How often to check whether a link has been unreachable for too long.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The reachability of a link. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkReachability(Arc<Mutex<Option<LinkOutage>>>);

/// A link that is not reachable.
#[derive(Clone, Debug)]
struct LinkOutage {
    since: Instant,
    why: String,
}

impl LinkReachability {
    /// Waits until the link has been unreachable for `grace`; returns the reason.
    pub(super) async fn lost(&self, grace: Duration) -> String {
        loop {
            let away = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(away) = away.filter(|away| away.since.elapsed() > grace) {
                return away.why;
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    fn record_result<T>(&self, came: Result<T, MailboxError>) -> Result<T, MailboxError> {
        let mut away = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &came {
            Err(error @ MailboxError::Unreachable { .. }) => {
                let since = away.as_ref().map_or_else(Instant::now, |away| away.since);
                *away = Some(LinkOutage { since, why: error.to_string() });
            }
            // Any answer shows that the link is reachable.
            Ok(_) | Err(_) => *away = None,
        }
        came
    }
}

/// Returns the same links, with those of a scheme watched.
pub(super) fn watch_links(
    links: &MailboxRegistry,
    scheme: &str,
) -> (MailboxRegistry, LinkReachability) {
    let (contact, inner) = (LinkReachability::default(), links.clone());
    let heard = contact.clone();
    let open = move |site: &MailboxAddress| -> Result<Arc<dyn Mailboxes>, MailboxError> {
        Ok(Arc::new(WatchedMailboxes { inner: inner.open(site)?, contact: heard.clone() }))
    };
    (links.clone().with(scheme, open), contact)
}

/// Mailboxes whose reachability is recorded.
#[derive(Debug)]
struct WatchedMailboxes {
    inner: Arc<dyn Mailboxes>,
    contact: LinkReachability,
}

impl Mailboxes for WatchedMailboxes {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        Box::pin(async move { self.contact.record_result(self.inner.bind(by, term).await) })
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.contact.record_result(self.inner.renew(epoch, term).await) })
    }

    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(
            async move { self.contact.record_result(self.inner.unbind(epoch, final_status).await) },
        )
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        Box::pin(async move { self.contact.record_result(self.inner.binding().await) })
    }

    fn send(&self, letters: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.contact.record_result(self.inner.send(letters).await) })
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(
            async move { self.contact.record_result(self.inner.receive(mailbox, within).await) },
        )
    }
}
