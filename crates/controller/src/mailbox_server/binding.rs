//! The binding of a leader to its place: taking it and renewing it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use windlass_core::leader::LeaderLease;
use windlass_core::time::{Span, Time};
use windlass_link::mailbox::{BindingEpoch, MailboxError, Mailboxes};
use windlass_net::clock::ProcessClock;

/// The pause between two attempts to bind.
const PAUSE: Duration = Duration::from_millis(250);

/// The settings of a binding.
#[derive(Clone, Debug)]
pub struct MailboxServerOptions {
    /// The name of the leader, for processes that are refused because of it.
    pub by: String,
    /// The duration of the binding without a renewal. A leader that cannot renew it stops before it lapses.
    pub term: Duration,
    /// The time for which an unreachable place is tried at the start.
    pub link_grace: Duration,
    /// The clock of the binding. Outside of tests it counts suspension.
    pub clock: ProcessClock,
}

impl MailboxServerOptions {
    /// Returns the default settings, on the runtime's clock. The duration is that of a cluster leader's term; the grace
    /// outlasts a restart of the message broker.
    pub fn of(by: String) -> Self {
        let (term, link_grace) = (Duration::from_secs(6), Duration::from_mins(1));
        Self { by, term, link_grace, clock: ProcessClock::runtime() }
    }

    fn lasts(&self) -> Span {
        Span::millis(u64::try_from(self.term.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The reason for which a mailbox server could not start or continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailboxServerError {
    /// The broker refused.
    #[error("{place}: {error}")]
    Mail {
        /// The place.
        place: String,
        /// The broker's error.
        error: MailboxError,
    },
    /// The binding could not be renewed, so another leader may be bound soon.
    #[error(
        "no contact with {place} for nearly {} s, after which another process may lead there: {last}",
        waited.as_secs()
    )]
    Lapsed {
        /// The place.
        place: String,
        /// The duration of the binding.
        waited: Duration,
        /// The last error.
        last: String,
    },
    /// The place could not be reached for too long.
    #[error("no contact with {place} for {} s: {last}", waited.as_secs())]
    NoLink {
        /// The place.
        place: String,
        /// The time for which it was tried.
        waited: Duration,
        /// The last error.
        last: String,
    },
    /// Requests have come from more mailboxes than can be remembered. A new binding starts afresh: earlier requests are
    /// not valid under it.
    #[error(
        "{mailboxes} mailboxes have asked at {place} since this process was bound there: it has to be bound anew"
    )]
    TooManyMailboxes {
        /// The place.
        place: String,
        /// The number of mailboxes.
        mailboxes: usize,
    },
}

/// A leader's binding to its place.
#[derive(Debug)]
pub(super) struct MailboxServerBinding {
    pub(super) mailboxes: Arc<dyn Mailboxes>,
    pub(super) epoch: BindingEpoch,
    terms: MailboxServerOptions,
    /// Whether another process was bound there before. Steps that it granted may still run.
    follows_another: bool,
    /// The time for which the leader may act as such.
    held: Mutex<LeaderLease>,
    /// The same time, for the code that must stop with it.
    acts_until: watch::Sender<Option<Time>>,
}

impl MailboxServerBinding {
    /// Binds the place. The binding of a dead leader lasts until its term is over. The new leader waits that long
    /// before it is refused, because a live leader renews its binding meanwhile.
    pub(super) async fn new(
        mailboxes: Arc<dyn Mailboxes>,
        terms: MailboxServerOptions,
    ) -> Result<Self, MailboxServerError> {
        let began = Instant::now();
        // The binding counts from here: an earlier attempt may have succeeded although its answer was lost.
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

    /// Whether another process was bound there before. A process that is not known to be the first one follows another.
    pub(super) const fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// Returns a receiver of the time until which the leader may act; `None` once everything is over.
    pub(super) fn valid_until(&self) -> watch::Receiver<Option<Time>> {
        self.acts_until.subscribe()
    }

    /// Ends the leader's right to act, however long the binding lasts.
    pub(super) fn mark_expired(&self) {
        self.acts_until.send_replace(Some(self.terms.clock.now()));
    }

    /// Records that everything is over, so that nothing has to stop any more.
    pub(super) fn is_over(&self) {
        self.acts_until.send_replace(None);
    }

    /// Renews the binding until it has passed to another leader, or until it might lapse. From then on another leader
    /// may be bound, so this one must have stopped. The time counts from before each renewal was requested.
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

    /// Whether the leader may still act as such. This reads the clock: a process that was stopped for a while may get
    /// every other message before it gets the end of the binding.
    pub(super) fn is_valid(&self) -> bool {
        self.held().is_valid(self.terms.clock.now())
    }

    /// Requests a renewal when it is due.
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
            // The binding is invalid one tick of the clock later.
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

    /// A broker that loses renewals.
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

        fn unbind(
            &self,
            epoch: BindingEpoch,
            final_status: Option<String>,
        ) -> MailboxFuture<'_, ()> {
            self.0.unbind(epoch, final_status)
        }

        fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
            self.0.binding()
        }

        fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
            self.0.send(messages)
        }

        fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
            self.0.receive(mailbox, within)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn leader_stops_before_another_one_can_be_bound() {
        let broker = MemoryMailboxes::new();
        let mailboxes = Arc::new(LostRenewals(broker.clone()));
        let binding =
            MailboxServerBinding::new(mailboxes, MailboxServerOptions::of("ann".to_owned()))
                .await
                .unwrap();
        assert!(binding.is_valid() && !binding.follows_another());
        let stopped = binding.keep_renewed().await;
        assert!(matches!(stopped, MailboxServerError::Lapsed { .. }), "{stopped}");
        assert!(!binding.is_valid());
        let by = broker.binding().await.unwrap().by;
        assert_eq!(by.as_deref(), Some("ann"), "the binding has not lapsed yet");
        sleep(Duration::from_secs(2)).await;
        let next =
            MailboxServerBinding::new(Arc::new(broker), MailboxServerOptions::of("ben".to_owned()))
                .await
                .unwrap();
        assert!(next.follows_another());
    }

    #[tokio::test(start_paused = true)]
    async fn leader_goes_on_while_its_binding_is_renewed() {
        let mailboxes: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::new());
        let binding =
            MailboxServerBinding::new(mailboxes, MailboxServerOptions::of("ann".to_owned()))
                .await
                .unwrap();
        let kept = tokio::time::timeout(Duration::from_mins(5), binding.keep_renewed()).await;
        assert!(kept.is_err() && binding.is_valid());
    }
}
