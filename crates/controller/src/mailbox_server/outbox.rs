//! Sends answers, in batches.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use windlass_link::mailbox::{MailboxError, MailboxMessage, Mailboxes};

use super::binding::MailboxServerBinding;

/// Messages that are sent together.
const BATCH_MAX: usize = 64;

/// The time for which messages that the broker does not accept are sent again. By then the workers repeat their
/// requests.
const TRIED_FOR: Duration = Duration::from_secs(3);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Sends messages until no more can come. Messages that have gathered are sent together.
pub(super) async fn send_all(
    binding: &MailboxServerBinding,
    mut answers: mpsc::Receiver<Vec<MailboxMessage>>,
) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while answers.recv_many(&mut batch, BATCH_MAX).await > 0 {
        let messages = batch.drain(..).flatten().collect();
        // A process that wakes up late must not renew leases in place of the next leader.
        if binding.is_valid() {
            send(&*binding.mailboxes, messages).await;
        }
    }
}

/// Sends messages, again for a while if need be. Messages that are not sent are lost, which the protocol allows.
pub(super) async fn send(mailboxes: &dyn Mailboxes, messages: Vec<MailboxMessage>) {
    let began = Instant::now();
    while began.elapsed() < TRIED_FOR {
        match mailboxes.send(messages.clone()).await {
            Err(MailboxError::Unreachable { .. }) => sleep(PAUSE).await,
            Err(_) if messages.len() > 1 => return one_by_one(mailboxes, messages).await,
            Ok(()) | Err(_) => return,
        }
    }
}

/// One of the messages is not accepted: the mailbox of a dead worker fills up. It must not hold up the others.
async fn one_by_one(mailboxes: &dyn Mailboxes, messages: Vec<MailboxMessage>) {
    for message in messages {
        drop(mailboxes.send(vec![message]).await);
    }
}
