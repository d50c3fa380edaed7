//! Being bound to a place, and staying so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use windlass_core::leader::LeaderLease;
use windlass_core::time::{Span, Time};
use windlass_link::mailbox::{BindingEpoch, MailboxError, Mailboxes};
use windlass_net::clock::ProcessClock;

/// The pause between two tries to be bound.
const PAUSE: Duration = Duration::from_millis(250);

/// On which terms a leader is bound to its place.
#[derive(Clone, Debug)]
pub struct MailboxServerOptions {
    /// Who it is, for those who are refused because of it.
    pub by: String,
    /// How long the binding lasts without a renewal. A leader that cannot renew it stops before it lapses.
    pub term: Duration,
    /// How long a place that is not reached is tried at the start.
    pub link_grace: Duration,
    /// The clock that its term is counted on: outside of tests one that counts suspension.
    pub clock: ProcessClock,
}

impl MailboxServerOptions {
    /// The usual ones, on the runtime's clock. A term is as long as that of a leader of a cluster; the grace outlasts a
    /// restart of the place.
    pub fn of(by: String) -> Self {
        let (term, link_grace) = (Duration::from_secs(6), Duration::from_mins(1));
        Self { by, term, link_grace, clock: ProcessClock::runtime() }
    }

    fn lasts(&self) -> Span {
        Span::millis(u64::try_from(self.term.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Why a leader's end could not begin, or go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailboxServerError {
    /// The place says so.
    #[error("{place}: {error}")]
    Mail {
        /// Where.
        place: String,
        /// What.
        error: MailboxError,
    },
    /// The binding could not be renewed, and another leader may be bound soon.
    #[error(
        "no contact with {place} for nearly {} s, after which another process may lead there: {last}",
        waited.as_secs()
    )]
    Lapsed {
        /// Where.
        place: String,
        /// How long the binding lasts.
        waited: Duration,
        /// What went wrong last.
        last: String,
    },
    /// The place was not reached for too long.
    #[error("no contact with {place} for {} s: {last}", waited.as_secs())]
    NoLink {
        /// Where.
        place: String,
        /// How long.
        waited: Duration,
        /// What went wrong last.
        last: String,
    },
    /// More mailboxes have asked than are remembered. Another binding begins anew: what was asked before it is not valid
    /// there.
    #[error(
        "{mailboxes} mailboxes have asked at {place} since this process was bound there: it has to be bound anew"
    )]
    TooManyMailboxes {
        /// Where.
        place: String,
        /// How many.
        mailboxes: usize,
    },
}

/// A leader's hold on its place.
#[derive(Debug)]
pub(super) struct MailboxServerBinding {
    pub(super) mailboxes: Arc<dyn Mailboxes>,
    pub(super) epoch: BindingEpoch,
    terms: MailboxServerOptions,
    /// Whether another process was bound there before, and may have granted what still runs.
    follows_another: bool,
    /// How long its holder may act as the leader of the place.
    held: Mutex<LeaderLease>,
    /// The same, for what must end with it.
    acts_until: watch::Sender<Option<Time>>,
}

impl MailboxServerBinding {
    /// Binds the place. A leader that died is bound until its term is over: it is waited for that long before somebody is
    /// refused because of it, for one that lives keeps its binding.
    pub(super) async fn new(
        mailboxes: Arc<dyn Mailboxes>,
        terms: MailboxServerOptions,
    ) -> Result<Self, MailboxServerError> {
        let began = Instant::now();
        // From then on: what was asked before may have been bound itself, without its knowing.
        let mut led_since = None;
        loop {
            let before = mailboxes.binding().await;
            let asked_at = terms.clock.now();
            let error = match mailboxes.bind(terms.by.clone(), terms.term).await {
                Ok(epoch) => {
                    let held = LeaderLease::won(Some(terms.lasts()), asked_at, terms.clock.now());
                    let follows_another =
                        !before.is_ok_and(|it| it.epoch == BindingEpoch::default());
                    return Ok(Self::won((mailboxes, terms), epoch, follows_another, held));
                }
                Err(error) => error,
            };
            let over = if matches!(error, MailboxError::AlreadyLed { .. }) {
                led_since.get_or_insert_with(Instant::now).elapsed() > terms.term + PAUSE
            } else {
                led_since = None;
                !error.is_retryable()
            };
            if over {
                return Err(MailboxServerError::Mail { place: mailboxes.place(), error });
            }
            let waited = began.elapsed();
            if led_since.is_none() && waited > terms.link_grace {
                return Err(no_link(&*mailboxes, waited, &error));
            }
            sleep(PAUSE).await;
        }
    }

    fn won(
        (mailboxes, terms): (Arc<dyn Mailboxes>, MailboxServerOptions),
        epoch: BindingEpoch,
        follows_another: bool,
        held: LeaderLease,
    ) -> Self {
        let acts_until = watch::Sender::new(held.valid_until());
        Self { mailboxes, epoch, terms, follows_another, held: Mutex::new(held), acts_until }
    }

    /// Whether another process was bound there before. One that is not known to be the first follows another.
    pub(super) const fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// Until when its holder may act, as that changes; nothing once all is over.
    pub(super) fn valid_until(&self) -> watch::Receiver<Option<Time>> {
        self.acts_until.subscribe()
    }

    /// The holder acts no more, whatever the binding may last.
    pub(super) fn mark_expired(&self) {
        self.acts_until.send_replace(Some(self.terms.clock.now()));
    }

    /// Everything is over: nothing is left that must end.
    pub(super) fn is_over(&self) {
        self.acts_until.send_replace(None);
    }

    /// Keeps the binding until it has passed to another leader, or until it might lapse: from then on another leader may be
    /// bound, so this one must have stopped. Counted from before each renewal was asked for.
    pub(super) async fn keep_renewed(&self) -> MailboxServerError {
        let mut last = "no answer so far".to_owned();
        loop {
            tokio::select! {
                biased;
                () = self.wait_for_expiry() => return self.lapsed(last),
                renewed = self.renew() => match renewed {
                    Ok(()) => {}
                    Err(error) if error.is_retryable() => last = error.to_string(),
                    Err(error) => return self.failed(error),
                },
            }
        }
    }

    /// Whether its holder may still act as the leader of the place. It looks at the clock itself: a process that was
    /// stopped for a while may hear everything else first.
    pub(super) fn is_valid(&self) -> bool {
        self.held().is_valid(self.terms.clock.now())
    }

    /// Asks for a renewal when it is due.
    async fn renew(&self) -> Result<(), MailboxError> {
        let clock = self.terms.clock;
        let due = self.held().renew_at();
        clock.sleep_until(due.unwrap_or_default()).await;
        let asked_at = clock.now();
        let renewed = self.mailboxes.renew(self.epoch, self.terms.term).await;
        match &renewed {
            Ok(()) => {
                let mut held = self.held();
                held.renewed(asked_at, clock.now());
                self.acts_until.send_replace(held.valid_until());
            }
            Err(_) => self.held().not_renewed(clock.now()),
        }
        renewed
    }

    async fn wait_for_expiry(&self) {
        let clock = self.terms.clock;
        while self.is_valid() {
            let until = self.held().valid_until();
            // The first moment without trust is what the clock counts in later.
            clock.sleep_until(until.unwrap_or_default() + Span::millis(1)).await;
        }
    }

    fn held(&self) -> MutexGuard<'_, LeaderLease> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lapsed(&self, last: String) -> MailboxServerError {
        let (place, waited) = (self.mailboxes.place(), self.terms.term);
        MailboxServerError::Lapsed { place, waited, last }
    }

    pub(super) fn failed(&self, error: MailboxError) -> MailboxServerError {
        MailboxServerError::Mail { place: self.mailboxes.place(), error }
    }
}

fn no_link(mailboxes: &dyn Mailboxes, waited: Duration, last: &MailboxError) -> MailboxServerError {
    MailboxServerError::NoLink { place: mailboxes.place(), waited, last: last.to_string() }
}

#[cfg(test)]
mod tests {
    use windlass_link::mailbox::{
        MailboxBinding, MailboxFuture, MailboxId, MailboxMessage, MemoryMailboxes,
    };

    use super::*;

    /// A place whose renewals are lost.
    #[derive(Debug)]
    struct LostRenewals(MemoryMailboxes);

    impl Mailboxes for LostRenewals {
        fn place(&self) -> String {
            self.0.place()
        }

        fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
            self.0.bind(by, term)
        }

        fn renew(&self, _: BindingEpoch, _: Duration) -> MailboxFuture<'_, ()> {
            let error = MailboxError::Unreachable { place: self.place(), reason: "cut".to_owned() };
            Box::pin(async { Err(error) })
        }

        fn unbind(&self, epoch: BindingEpoch, epitaph: Option<String>) -> MailboxFuture<'_, ()> {
            self.0.unbind(epoch, epitaph)
        }

        fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
            self.0.binding()
        }

        fn send(&self, letters: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
            self.0.send(letters)
        }

        fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
            self.0.receive(mailbox, within)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn leader_stops_before_another_one_can_be_bound() {
        let place = MemoryMailboxes::new();
        let mailboxes = Arc::new(LostRenewals(place.clone()));
        let binding =
            MailboxServerBinding::new(mailboxes, MailboxServerOptions::of("ann".to_owned()))
                .await
                .unwrap();
        assert!(binding.is_valid() && !binding.follows_another());
        let stopped = binding.keep_renewed().await;
        assert!(matches!(stopped, MailboxServerError::Lapsed { .. }), "{stopped}");
        assert!(!binding.is_valid());
        let by = place.binding().await.unwrap().by;
        assert_eq!(by.as_deref(), Some("ann"), "the binding has not lapsed yet");
        sleep(Duration::from_secs(2)).await;
        let next =
            MailboxServerBinding::new(Arc::new(place), MailboxServerOptions::of("ben".to_owned()))
                .await
                .unwrap();
        assert!(next.follows_another());
    }

    #[tokio::test(start_paused = true)]
    async fn leader_goes_on_while_its_binding_is_renewed() {
        let place: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
        let binding = MailboxServerBinding::new(place, MailboxServerOptions::of("ann".to_owned()))
            .await
            .unwrap();
        let kept = tokio::time::timeout(Duration::from_mins(5), binding.keep_renewed()).await;
        assert!(kept.is_err() && binding.is_valid());
    }
}
