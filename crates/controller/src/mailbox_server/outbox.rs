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
        let letters = batch.drain(..).flatten().collect();
        // A process that wakes up late must not renew leases in place of the next leader.
        if binding.is_valid() {
            send(&*binding.mailboxes, letters).await;
        }
    }
}

/// Sends messages, again for a while if need be. Messages that are not sent are lost, which the protocol allows.
pub(super) async fn send(mailboxes: &dyn Mailboxes, letters: Vec<MailboxMessage>) {
    let began = Instant::now();
    while began.elapsed() < TRIED_FOR {
        match mailboxes.send(letters.clone()).await {
            Err(MailboxError::Unreachable { .. }) => sleep(PAUSE).await,
            Err(_) if letters.len() > 1 => return one_by_one(mailboxes, letters).await,
            Ok(()) | Err(_) => return,
        }
    }
}

/// One of the messages is not accepted: the mailbox of a dead worker fills up. It must not hold up the others.
async fn one_by_one(mailboxes: &dyn Mailboxes, letters: Vec<MailboxMessage>) {
    for letter in letters {
        drop(mailboxes.send(vec![letter]).await);
    }
}
