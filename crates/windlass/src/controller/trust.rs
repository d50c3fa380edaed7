//! Keeping a term: renewals on a task of their own, and how long the leader may believe in them.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use windlass_core::id::Term;
use windlass_core::leader::Tenure;
use windlass_core::time::{Span, Time};

use super::clock::Clock;
use crate::journal::{Journal, Leadership};
use crate::store::StoreError;

/// The first moment without trust comes this long after the last one with it: what the clock counts in.
const TICK: Span = Span::millis(1);

/// A leader's trust in its term. Dropping it ends the renewals.
#[derive(Debug)]
pub(super) struct Trust {
    /// `None` once the term has passed.
    tenure: watch::Receiver<Option<Tenure>>,
    clock: Clock,
    renewal: JoinHandle<()>,
}

impl Trust {
    /// Trust in a term that was asked for at a time of the node's own clock.
    pub(super) fn begin(
        journal: &Arc<dyn Journal>,
        won: &Leadership,
        asked_at: Time,
        clock: Clock,
    ) -> Self {
        let held = Tenure::won(won.lasts, asked_at, clock.now());
        let (sender, tenure) = watch::channel(Some(held));
        let renewal =
            Renewal { journal: Arc::clone(journal), term: won.term, clock, tenure: sender };
        Self { tenure, clock, renewal: tokio::spawn(renewal.run(held)) }
    }

    /// Whether the leader may speak. It looks at the clock itself: a process that was stopped for a while may be told of
    /// everything else before it is told that time has passed.
    pub(super) fn lasts(&self) -> bool {
        self.tenure.borrow().is_some_and(|held| held.is_trusted(self.clock.now()))
    }

    /// Waits until the leader may no longer speak.
    pub(super) async fn ends(&mut self) {
        loop {
            let held = *self.tenure.borrow_and_update();
            let now = self.clock.now();
            let Some(held) = held.filter(|held| held.is_trusted(now)) else { return };
            let over = held.trusted_until().map(|last| self.clock.instant(last + TICK));
            tokio::select! {
                biased;
                changed = self.tenure.changed() => if changed.is_err() { return },
                () = at(over) => {}
            }
        }
    }
}

impl Drop for Trust {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// Renews a term where nothing that the leader does can starve it.
struct Renewal {
    journal: Arc<dyn Journal>,
    term: Term,
    clock: Clock,
    tenure: watch::Sender<Option<Tenure>>,
}

impl Renewal {
    /// Until the term has passed. Its trust ends by itself if no answer comes.
    async fn run(self, mut held: Tenure) {
        loop {
            at(held.renew_at().map(|at| self.clock.instant(at))).await;
            let asked_at = self.clock.now();
            match self.journal.renew(self.term).await {
                Ok(()) => held.renewed(asked_at, self.clock.now()),
                Err(StoreError::Stale { .. }) => {
                    self.tenure.send_replace(None);
                    return;
                }
                Err(_) => held.not_renewed(self.clock.now()),
            }
            self.tenure.send_replace(Some(held));
        }
    }
}

/// Waits until then, or for ever.
pub(super) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
