//! Faults between a leader and its workers: a wrapper that loses, repeats and delays messages.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use windlass_link::mailbox::{
    BindingEpoch, MailboxBinding, MailboxError, MailboxFuture, MailboxId, MailboxMessage, Mailboxes,
};

/// The faults, each in percent of all messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct MailboxFaults {
    /// Messages that never arrive.
    pub lost: u64,
    /// Messages that arrive twice.
    pub duplicated: u64,
    /// Messages that arrive up to `delay_max` later, behind messages that were sent after them.
    pub delayed: u64,
    /// The longest delay.
    pub delay_max: Duration,
}

/// Mailboxes with faults. A clone has the same faults.
#[derive(Clone)]
pub struct FaultyMailboxes(Arc<FaultyMailboxesInner>);

struct FaultyMailboxesInner {
    inner: Arc<dyn Mailboxes>,
    faults: MailboxFaults,
    rng_state: Mutex<u64>,
    is_cut: AtomicBool,
}

impl FaultyMailboxes {
    /// Wraps mailboxes; the same seed gives the same faults.
    pub fn new(inner: Arc<dyn Mailboxes>, faults: MailboxFaults, seed: u64) -> Self {
        let rng_state = Mutex::new(seed);
        let is_cut = AtomicBool::new(false);
        Self(Arc::new(FaultyMailboxesInner { inner, faults, rng_state, is_cut }))
    }

    /// Disconnects the users of this wrapper, or connects them again.
    pub fn set_disconnected(&self, is_cut: bool) {
        self.0.is_cut.store(is_cut, Ordering::SeqCst);
    }

    fn inner_if_connected(&self) -> Result<&dyn Mailboxes, MailboxError> {
        if self.0.is_cut.load(Ordering::SeqCst) {
            let (place, reason) = (self.place(), "the check has disconnected it".to_owned());
            return Err(MailboxError::Unreachable { place, reason });
        }
        Ok(&*self.0.inner)
    }

    /// A random number below a bound (`SplitMix64`).
    fn below(&self, bound: u64) -> u64 {
        let mut state = self.0.rng_state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// The copies of a message that are sent now.
    fn apply_faults(&self, message: MailboxMessage) -> Vec<MailboxMessage> {
        let MailboxFaults { lost, duplicated: repeated, delayed, .. } = self.0.faults;
        let fate = self.below(100);
        if fate < lost {
            return Vec::new();
        }
        if fate < lost + repeated {
            return vec![message.clone(), message];
        }
        if fate < lost + repeated + delayed {
            self.send_late(message);
            return Vec::new();
        }
        vec![message]
    }

    fn send_late(&self, message: MailboxMessage) {
        let longest = u64::try_from(self.0.faults.delay_max.as_millis()).unwrap_or(u64::MAX);
        let (late, mailboxes) = (Duration::from_millis(self.below(longest.max(1))), self.clone());
        tokio::spawn(async move {
            sleep(late).await;
            if let Ok(inner) = mailboxes.inner_if_connected() {
                drop(inner.send(vec![message]).await);
            }
        });
    }
}

impl fmt::Debug for FaultyMailboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyMailboxes({:?}, {:?})", self.0.inner, self.0.faults)
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

    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(async move { self.inner_if_connected()?.unbind(epoch, final_status).await })
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        Box::pin(async move { self.inner_if_connected()?.binding().await })
    }

    fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(async move {
            let inner = self.inner_if_connected()?;
            let messages =
                messages.into_iter().flat_map(|message| self.apply_faults(message)).collect();
            inner.send(messages).await
        })
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(async move {
            let messages = self.inner_if_connected()?.receive(mailbox, within).await?;
            // A message in transit is lost when the link is disconnected.
            self.inner_if_connected().map(|_| messages)
        })
    }
}
