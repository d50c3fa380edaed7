//! Bad weather between a leader and its workers: a wrapper that does to letters what a link may do to them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use crate::link::post::{Epoch, Letter, MailError, Mailbox, Mailboxes, Mailed, Standing};

/// What befalls letters, each in percent of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// They never come.
    pub lost: u64,
    /// They come twice.
    pub doubled: u64,
    /// They come later than what was sent behind them, by up to `longest`.
    pub delayed: u64,
    /// How late a late one is, at most.
    pub longest: Duration,
}

/// Mailboxes in a storm. A clone is in the same storm.
#[derive(Clone)]
pub struct Stormy(Arc<Storm>);

struct Storm {
    calm: Arc<dyn Mailboxes>,
    weather: Weather,
    chance: Mutex<u64>,
    is_cut: AtomicBool,
}

impl Stormy {
    /// The weather over these mailboxes; the same seed is the same storm.
    pub fn new(calm: Arc<dyn Mailboxes>, weather: Weather, seed: u64) -> Self {
        let (chance, is_cut) = (Mutex::new(seed), AtomicBool::new(false));
        Self(Arc::new(Storm { calm, weather, chance, is_cut }))
    }

    /// Cuts whoever uses this wrapper off, or lets them back in.
    pub fn cut(&self, is_cut: bool) {
        self.0.is_cut.store(is_cut, Ordering::SeqCst);
    }

    fn reach(&self) -> Result<&dyn Mailboxes, MailError> {
        if self.0.is_cut.load(Ordering::SeqCst) {
            let (place, reason) = (self.place(), "the storm has cut it off".to_owned());
            return Err(MailError::Unreachable { place, reason });
        }
        Ok(&*self.0.calm)
    }

    /// A number below another, by chance (`SplitMix64`).
    fn below(&self, bound: u64) -> u64 {
        let mut chance = self.0.chance.lock().unwrap_or_else(PoisonError::into_inner);
        *chance = chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*chance ^ (*chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// What of a letter leaves now.
    fn befall(&self, letter: Letter) -> Vec<Letter> {
        let Weather { lost, doubled, delayed, .. } = self.0.weather;
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

    fn send_late(&self, letter: Letter) {
        let longest = u64::try_from(self.0.weather.longest.as_millis()).unwrap_or(u64::MAX);
        let (late, storm) = (Duration::from_millis(self.below(longest.max(1))), self.clone());
        tokio::spawn(async move {
            sleep(late).await;
            if let Ok(calm) = storm.reach() {
                drop(calm.send(vec![letter]).await);
            }
        });
    }
}

impl fmt::Debug for Stormy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stormy({:?}, {:?})", self.0.calm, self.0.weather)
    }
}

impl Mailboxes for Stormy {
    fn place(&self) -> String {
        self.0.calm.place()
    }

    fn bind(&self, by: String, term: Duration) -> Mailed<'_, Epoch> {
        Box::pin(async move { self.reach()?.bind(by, term).await })
    }

    fn keep(&self, epoch: Epoch, term: Duration) -> Mailed<'_, ()> {
        Box::pin(async move { self.reach()?.keep(epoch, term).await })
    }

    fn unbind(&self, epoch: Epoch, epitaph: Option<String>) -> Mailed<'_, ()> {
        Box::pin(async move { self.reach()?.unbind(epoch, epitaph).await })
    }

    fn look(&self) -> Mailed<'_, Standing> {
        Box::pin(async move { self.reach()?.look().await })
    }

    fn send(&self, letters: Vec<Letter>) -> Mailed<'_, ()> {
        Box::pin(async move {
            let calm = self.reach()?;
            let letters = letters.into_iter().flat_map(|letter| self.befall(letter)).collect();
            calm.send(letters).await
        })
    }

    fn receive(&self, mailbox: Mailbox, within: Duration) -> Mailed<'_, Vec<Vec<u8>>> {
        Box::pin(async move {
            let letters = self.reach()?.receive(mailbox, within).await?;
            // What was under way when it was cut did not arrive.
            self.reach().map(|_| letters)
        })
    }
}
