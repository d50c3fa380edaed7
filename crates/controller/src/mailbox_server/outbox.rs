//! Answers on their way out.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use windlass_link::mailbox::{MailboxError, MailboxMessage, Mailboxes};

use super::binding::MailboxServerBinding;

/// Answers that leave together.
const BATCH_MAX: usize = 64;

/// How long letters are tried for that the place does not take: by then their workers ask again.
const TRIED_FOR: Duration = Duration::from_secs(3);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Sends what comes, as much at once as has gathered, for as long as anything can come.
pub(super) async fn send_all(
    binding: &MailboxServerBinding,
    mut answers: mpsc::Receiver<Vec<MailboxMessage>>,
) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while answers.recv_many(&mut batch, BATCH_MAX).await > 0 {
        let letters = batch.drain(..).flatten().collect();
        // A process that wakes up late must not renew leases in the place of the next leader.
        if binding.is_valid() {
            send(&*binding.mailboxes, letters).await;
        }
    }
}

/// Sends letters, for a while. What does not leave is lost, which letters may be.
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

/// One of them is not wanted: the mailbox of a worker that died fills up. It must not keep the others.
async fn one_by_one(mailboxes: &dyn Mailboxes, letters: Vec<MailboxMessage>) {
    for letter in letters {
        drop(mailboxes.send(vec![letter]).await);
    }
}
