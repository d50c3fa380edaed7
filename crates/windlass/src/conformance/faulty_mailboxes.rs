//! Bad weather between a leader and its workers: a wrapper that does to letters what a link may do to them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use windlass_link::mailbox::{
    BindingEpoch, MailboxBinding, MailboxError, MailboxFuture, MailboxId, MailboxMessage, Mailboxes,
};

/// What befalls letters, each in percent of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct MailboxFaults {
    /// They never come.
    pub lost: u64,
    /// They come twice.
    pub duplicated: u64,
    /// They come later than what was sent behind them, by up to `longest`.
    pub delayed: u64,
    /// How late a late one is, at most.
    pub delay_max: Duration,
}

/// Mailboxes in a storm. A clone is in the same storm.
#[derive(Clone)]
pub struct FaultyMailboxes(Arc<FaultyMailboxesInner>);

struct FaultyMailboxesInner {
    inner: Arc<dyn Mailboxes>,
    faults: MailboxFaults,
    rng_state: Mutex<u64>,
    is_cut: AtomicBool,
}

impl FaultyMailboxes {
    /// The weather over these mailboxes; the same seed is the same storm.
    pub fn new(calm: Arc<dyn Mailboxes>, weather: MailboxFaults, seed: u64) -> Self {
        let (chance, is_cut) = (Mutex::new(seed), AtomicBool::new(false));
        Self(Arc::new(FaultyMailboxesInner {
            inner: calm,
            faults: weather,
            rng_state: chance,
            is_cut,
        }))
    }

    /// Cuts whoever uses this wrapper off, or lets them back in.
    pub fn set_disconnected(&self, is_cut: bool) {
        self.0.is_cut.store(is_cut, Ordering::SeqCst);
    }

    fn inner_if_connected(&self) -> Result<&dyn Mailboxes, MailboxError> {
        if self.0.is_cut.load(Ordering::SeqCst) {
            let (place, reason) = (self.place(), "the storm has cut it off".to_owned());
            return Err(MailboxError::Unreachable { place, reason });
        }
        Ok(&*self.0.inner)
    }

    /// A number below another, by chance (`SplitMix64`).
    fn below(&self, bound: u64) -> u64 {
        let mut chance = self.0.rng_state.lock().unwrap_or_else(PoisonError::into_inner);
        *chance = chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*chance ^ (*chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// What of a letter leaves now.
    fn apply_faults(&self, letter: MailboxMessage) -> Vec<MailboxMessage> {
        let MailboxFaults { lost, duplicated: doubled, delayed, .. } = self.0.faults;
        let fate = self.below(100);
        if fate < lost {
            return Vec::new();
        }
        if fate < lost + doubled {
            return vec![letter.clone(), letter];
        }
        if fate < lost + doubled + delayed {
            self.send_late(letter);
            return Vec::new();
        }
        vec![letter]
    }

    fn send_late(&self, letter: MailboxMessage) {
        let longest = u64::try_from(self.0.faults.delay_max.as_millis()).unwrap_or(u64::MAX);
        let (late, storm) = (Duration::from_millis(self.below(longest.max(1))), self.clone());
        tokio::spawn(async move {
            sleep(late).await;
            if let Ok(calm) = storm.inner_if_connected() {
                drop(calm.send(vec![letter]).await);
            }
        });
    }
}

impl fmt::Debug for FaultyMailboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stormy({:?}, {:?})", self.0.inner, self.0.faults)
    }
}

impl Mailboxes for FaultyMailboxes {
    fn place(&self) -> String {
        self.0.inner.place()
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        Box::pin(async move { self.inner_if_connected()?.bind(by, term).await })
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.inner_if_connected()?.renew(epoch, term).await })
    }

    fn unbind(&self, epoch: BindingEpoch, epitaph: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.inner_if_connected()?.unbind(epoch, epitaph).await })
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        Box::pin(async move { self.inner_if_connected()?.binding().await })
    }

    fn send(&self, letters: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(async move {
            let calm = self.inner_if_connected()?;
            let letters =
                letters.into_iter().flat_map(|letter| self.apply_faults(letter)).collect();
            calm.send(letters).await
        })
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(async move {
            let letters = self.inner_if_connected()?.receive(mailbox, within).await?;
            // What was under way when it was cut did not arrive.
            self.inner_if_connected().map(|_| letters)
        })
    }
}
