//! Mailboxes in the memory of one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::mailboxes::{
    BindingEpoch, MAILBOX_BYTES_MAX, MAILBOX_MESSAGE_MAX, MAILBOX_MESSAGES_MAX, MailboxBinding,
    MailboxError, MailboxFuture, MailboxId, MailboxMessage, Mailboxes, RECEIVED_MAX,
};

/// Mailboxes in the memory of one process. A clone is a handle to the same place.
#[derive(Clone, Debug, Default)]
pub struct MemoryMailboxes(Arc<MemoryMailboxesShared>);

#[derive(Debug, Default)]
struct MemoryMailboxesShared {
    state: Mutex<MemoryMailboxesState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct MemoryMailboxesState {
    epoch: BindingEpoch,
    bound: Option<(String, Instant)>,
    final_status: Option<String>,
    boxes: BTreeMap<MailboxId, VecDeque<Vec<u8>>>,
}

impl MemoryMailboxesState {
    fn by(&self) -> Option<String> {
        let holds = |(_, until): &&(String, Instant)| Instant::now() < *until;
        self.bound.as_ref().filter(holds).map(|(by, _)| by.clone())
    }

    fn bind(&mut self, by: String, term: Duration) -> Result<BindingEpoch, MailboxError> {
        if let Some(final_status) = self.final_status.clone() {
            return Err(MailboxError::Finished { final_status });
        }
        if let Some(by) = self.by() {
            return Err(MailboxError::AlreadyLed { by });
        }
        self.epoch.0 += 1;
        self.bound = Some((by, Instant::now() + term));
        Ok(self.epoch)
    }

    fn renew(&mut self, epoch: BindingEpoch, term: Duration) -> Result<(), MailboxError> {
        if epoch > self.epoch {
            let reason = format!("{epoch} was never bound here");
            return Err(MailboxError::StateLost { place: "memory".to_owned(), reason });
        }
        match &mut self.bound {
            Some((_, until)) if self.epoch == epoch => {
                *until = Instant::now() + term;
                Ok(())
            }
            _ => Err(MailboxError::Deposed { now: self.epoch }),
        }
    }

    fn unbind(&mut self, epoch: BindingEpoch, final_status: Option<String>) {
        if self.epoch == epoch {
            self.bound = None;
            self.final_status = self.final_status.take().or(final_status);
        }
    }

    fn put(&mut self, message: MailboxMessage) -> Result<(), MailboxError> {
        if message.bytes.len() > MAILBOX_MESSAGE_MAX {
            return Err(MailboxError::TooLarge { bytes: message.bytes.len() });
        }
        let mailbox = self.boxes.entry(message.to).or_default();
        let held: usize = mailbox.iter().map(Vec::len).sum();
        if mailbox.len() >= MAILBOX_MESSAGES_MAX || held + message.bytes.len() > MAILBOX_BYTES_MAX {
            let reason = "one of its mailboxes has no reader".to_owned();
            return Err(MailboxError::Full { place: "memory".to_owned(), reason });
        }
        mailbox.push_back(message.bytes);
        Ok(())
    }

    fn take(&mut self, mailbox: MailboxId) -> Vec<Vec<u8>> {
        let Some(messages) = self.boxes.get_mut(&mailbox) else { return Vec::new() };
        let taken = messages.drain(..messages.len().min(RECEIVED_MAX)).collect();
        if messages.is_empty() {
            self.boxes.remove(&mailbox);
        }
        taken
    }
}

impl MemoryMailboxes {
    /// Creates an empty place.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryMailboxesState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, messages: Vec<MailboxMessage>) -> Result<(), MailboxError> {
        let mut state = self.lock();
        let put = messages.into_iter().try_for_each(|message| state.put(message));
        drop(state);
        self.0.changed.notify_waiters();
        put
    }

    async fn wait(&self, mailbox: MailboxId) -> Vec<Vec<u8>> {
        loop {
            // The waiter is created before the check, so that a message in between wakes it.
            let notified = self.0.changed.notified();
            let taken = self.lock().take(mailbox);
            if !taken.is_empty() {
                return taken;
            }
            notified.await;
        }
    }
}

impl Mailboxes for MemoryMailboxes {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        Box::pin(async move { self.lock().bind(by, term) })
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.lock().renew(epoch, term) })
    }

    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(async move {
            self.lock().unbind(epoch, final_status);
            Ok(())
        })
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        Box::pin(async move {
            let state = self.lock();
            Ok(MailboxBinding {
                epoch: state.epoch,
                by: state.by(),
                final_status: state.final_status.clone(),
            })
        })
    }

    fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.put(messages) })
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(async move { Ok(timeout(within, self.wait(mailbox)).await.unwrap_or_default()) })
    }
}
