//! Receives notifications of new messages.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_store::db::postgres::address::PgAddress;
use windlass_store::db::postgres::notifications::listen;

use crate::mailbox::MailboxId;

/// The channel of notifications, as in `statements`.
const CHANNEL: &str = "windlass_mail";

/// The pause before it listens again after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Listens until it is dropped.
#[derive(Debug)]
pub(super) struct MailboxListener {
    task: JoinHandle<()>,
    notify: Arc<Notify>,
    mailbox: MailboxId,
}

impl MailboxListener {
    /// Starts to listen for messages to a mailbox.
    pub(super) fn of(address: &PgAddress, mailbox: MailboxId) -> Self {
        let (address, notify) = (address.clone(), Arc::new(Notify::new()));
        let heard = Arc::clone(&notify);
        let wanted = mailbox.0.cast_signed().to_string();
        let task = tokio::spawn(async move {
            loop {
                let reported = |payload: &str| {
                    if payload == wanted {
                        heard.notify_one();
                    }
                };
                // A failure costs time and nothing else.
                drop(listen(&address, CHANNEL, reported).await);
                sleep(PAUSE).await;
            }
        });
        Self { task, notify, mailbox }
    }

    pub(super) const fn mailbox(&self) -> MailboxId {
        self.mailbox
    }

    /// Returns the handle that notifications wake.
    pub(super) fn notify(&self) -> Arc<Notify> {
        Arc::clone(&self.notify)
    }
}

impl Drop for MailboxListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}
