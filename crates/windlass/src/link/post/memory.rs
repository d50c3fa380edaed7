//! Mailboxes in the memory of one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::mailboxes::{
    Epoch, LETTER_MAX, Letter, MailError, Mailbox, Mailboxes, Mailed, RECEIVED_MAX, Standing,
    WAITING_BYTES_MAX, WAITING_MAX,
};

/// Mailboxes in the memory of one process, for as long as it lives. A clone is a handle on the same place.
#[derive(Clone, Debug, Default)]
pub struct MemoryMailboxes(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    place: Mutex<Place>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Place {
    epoch: Epoch,
    bound: Option<(String, Instant)>,
    epitaph: Option<String>,
    boxes: BTreeMap<Mailbox, VecDeque<Vec<u8>>>,
}

impl Place {
    fn by(&self) -> Option<String> {
        let holds = |(_, until): &&(String, Instant)| Instant::now() < *until;
        self.bound.as_ref().filter(holds).map(|(by, _)| by.clone())
    }

    fn bind(&mut self, by: String, term: Duration) -> Result<Epoch, MailError> {
        if let Some(epitaph) = self.epitaph.clone() {
            return Err(MailError::Over { epitaph });
        }
        if let Some(by) = self.by() {
            return Err(MailError::AlreadyLed { by });
        }
        self.epoch.0 += 1;
        self.bound = Some((by, Instant::now() + term));
        Ok(self.epoch)
    }

    fn keep(&mut self, epoch: Epoch, term: Duration) -> Result<(), MailError> {
        if epoch > self.epoch {
            let reason = format!("{epoch} was never bound here");
            return Err(MailError::Gone { place: "memory".to_owned(), reason });
        }
        match &mut self.bound {
            Some((_, until)) if self.epoch == epoch => {
                *until = Instant::now() + term;
                Ok(())
            }
            _ => Err(MailError::Deposed { now: self.epoch }),
        }
    }

    fn unbind(&mut self, epoch: Epoch, epitaph: Option<String>) {
        if self.epoch == epoch {
            self.bound = None;
            self.epitaph = self.epitaph.take().or(epitaph);
        }
    }

    fn put(&mut self, letter: Letter) -> Result<(), MailError> {
        if letter.bytes.len() > LETTER_MAX {
            return Err(MailError::TooLarge { bytes: letter.bytes.len() });
        }
        let mailbox = self.boxes.entry(letter.to).or_default();
        let held: usize = mailbox.iter().map(Vec::len).sum();
        if mailbox.len() >= WAITING_MAX || held + letter.bytes.len() > WAITING_BYTES_MAX {
            let reason = "nobody reads one of its mailboxes".to_owned();
            return Err(MailError::Full { place: "memory".to_owned(), reason });
        }
        mailbox.push_back(letter.bytes);
        Ok(())
    }

    fn take(&mut self, mailbox: Mailbox) -> Vec<Vec<u8>> {
        let Some(letters) = self.boxes.get_mut(&mailbox) else { return Vec::new() };
        let taken = letters.drain(..letters.len().min(RECEIVED_MAX)).collect();
        if letters.is_empty() {
            self.boxes.remove(&mailbox);
        }
        taken
    }
}

impl MemoryMailboxes {
    /// A new place.
    pub fn new() -> Self {
        Self::default()
    }

    fn at(&self) -> MutexGuard<'_, Place> {
        self.0.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, letters: Vec<Letter>) -> Result<(), MailError> {
        let mut place = self.at();
        let put = letters.into_iter().try_for_each(|letter| place.put(letter));
        drop(place);
        self.0.news.notify_waiters();
        put
    }

    async fn wait(&self, mailbox: Mailbox) -> Vec<Vec<u8>> {
        loop {
            // Before looking: what comes between looking and waiting is heard too.
            let news = self.0.news.notified();
            let taken = self.at().take(mailbox);
            if !taken.is_empty() {
                return taken;
            }
            news.await;
        }
    }
}

impl Mailboxes for MemoryMailboxes {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> Mailed<'_, Epoch> {
        Box::pin(async move { self.at().bind(by, term) })
    }

    fn keep(&self, epoch: Epoch, term: Duration) -> Mailed<'_, ()> {
        Box::pin(async move { self.at().keep(epoch, term) })
    }

    fn unbind(&self, epoch: Epoch, epitaph: Option<String>) -> Mailed<'_, ()> {
        Box::pin(async move {
            self.at().unbind(epoch, epitaph);
            Ok(())
        })
    }

    fn look(&self) -> Mailed<'_, Standing> {
        Box::pin(async move {
            let place = self.at();
            Ok(Standing { epoch: place.epoch, by: place.by(), epitaph: place.epitaph.clone() })
        })
    }

    fn send(&self, letters: Vec<Letter>) -> Mailed<'_, ()> {
        Box::pin(async move { self.put(letters) })
    }

    fn receive(&self, mailbox: Mailbox, within: Duration) -> Mailed<'_, Vec<Vec<u8>>> {
        Box::pin(async move { Ok(timeout(within, self.wait(mailbox)).await.unwrap_or_default()) })
    }
}
