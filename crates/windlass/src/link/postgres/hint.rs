//! Hears that there may be letters.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::link::post::Mailbox;
use crate::store::postgres::address::Address;
use crate::store::postgres::notices::hear;

/// What is told of letters, as `statement` has it.
const CHANNEL: &str = "windlass_mail";

/// The pause before it listens again.
const PAUSE: Duration = Duration::from_secs(1);

/// Listens as long as it is there.
#[derive(Debug)]
pub(super) struct Hint {
    listening: JoinHandle<()>,
    news: Arc<Notify>,
    mailbox: Mailbox,
}

impl Hint {
    /// Hears of letters to a mailbox.
    pub(super) fn of(address: &Address, mailbox: Mailbox) -> Self {
        let (address, news) = (address.clone(), Arc::new(Notify::new()));
        let heard = Arc::clone(&news);
        let wanted = mailbox.0.cast_signed().to_string();
        let listening = tokio::spawn(async move {
            loop {
                let told = |payload: &str| {
                    if payload == wanted {
                        heard.notify_one();
                    }
                };
                // Whatever fails costs time, and nothing else.
                drop(hear(&address, CHANNEL, told).await);
                sleep(PAUSE).await;
            }
        });
        Self { listening, news, mailbox }
    }

    pub(super) const fn mailbox(&self) -> Mailbox {
        self.mailbox
    }

    /// That by which it tells.
    pub(super) fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }
}

impl Drop for Hint {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
