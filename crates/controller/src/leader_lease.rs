//! Keeping a term: renewals on a task of their own, and how long the leader may believe in them.
//!
//! Both are counted on the node's own clock, which goes on while the machine sleeps, and from before the store was asked.
//! Whoever has to know whether this node leads asks its [`LeaderLeaseStatus`], which looks at that clock: a process that was stopped
//! beyond its term knows that it is over in the first thing that it does, whatever that is.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use windlass_core::id::Term;
use windlass_core::leader::LeaderLease;
use windlass_core::time::{Span, Time};
use windlass_net::clock::ProcessClock;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, JournalLeadership};

/// The first moment without trust comes this long after the last one with it: what the clock counts in.
const TICK: Span = Span::millis(1);

/// A leader's trust in its term. Dropping it ends the renewals.
#[derive(Debug)]
pub(super) struct LeaderLeaseTask {
    belief: LeaderLeaseStatus,
    renewal: JoinHandle<()>,
}

/// What a leader believes of its term.
#[derive(Clone, Debug)]
pub(super) struct LeaderLeaseStatus {
    /// `None` once the term has passed.
    tenure: watch::Receiver<Option<LeaderLease>>,
    clock: ProcessClock,
}

impl LeaderLeaseStatus {
    /// Belief in a term, and what changes it.
    pub(super) fn new(
        held: LeaderLease,
        clock: ProcessClock,
    ) -> (watch::Sender<Option<LeaderLease>>, Self) {
        let (sender, tenure) = watch::channel(Some(held));
        (sender, Self { tenure, clock })
    }

    /// Whether the leader may speak. It looks at the clock itself: a process that was stopped for a while may be told of
    /// everything else before it is told that time has passed.
    pub(super) fn lasts(&self) -> bool {
        self.tenure.borrow().is_some_and(|held| held.is_valid(self.clock.now()))
    }
}

impl LeaderLeaseTask {
    /// Trust in a term that was asked for at a time of the node's own clock.
    pub(super) fn begin(
        journal: &Arc<dyn Journal>,
        won: &JournalLeadership,
        asked_at: Time,
        clock: ProcessClock,
    ) -> Self {
        let held = LeaderLease::won(won.lasts, asked_at, clock.now());
        let (tenure, belief) = LeaderLeaseStatus::new(held, clock);
        let renewal =
            LeaderLeaseRenewal { journal: Arc::clone(journal), term: won.term, clock, tenure };
        Self { belief, renewal: tokio::spawn(renewal.run(held)) }
    }

    /// What is believed, for others.
    pub(super) const fn status(&self) -> &LeaderLeaseStatus {
        &self.belief
    }

    /// Whether the leader may speak.
    pub(super) fn lasts(&self) -> bool {
        self.belief.lasts()
    }

    /// Waits until the leader may no longer speak.
    pub(super) async fn expired(&mut self) {
        let LeaderLeaseStatus { tenure, clock } = &mut self.belief;
        loop {
            let held = *tenure.borrow_and_update();
            let Some(held) = held.filter(|held| held.is_valid(clock.now())) else { return };
            let over = held.valid_until().map(|last| last + TICK);
            tokio::select! {
                biased;
                changed = tenure.changed() => if changed.is_err() { return },
                () = sleep_until_time(clock, over) => {}
            }
        }
    }
}

impl Drop for LeaderLeaseTask {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// Renews a term where nothing that the leader does can starve it.
struct LeaderLeaseRenewal {
    journal: Arc<dyn Journal>,
    term: Term,
    clock: ProcessClock,
    tenure: watch::Sender<Option<LeaderLease>>,
}

impl LeaderLeaseRenewal {
    /// Until the term has passed. Its trust ends by itself if no answer comes.
    async fn run(self, mut held: LeaderLease) {
        loop {
            sleep_until_time(&self.clock, held.renew_at()).await;
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

/// Waits until it is that time, or for ever.
async fn sleep_until_time(clock: &ProcessClock, at: Option<Time>) {
    match at {
        Some(at) => clock.sleep_until(at).await,
        None => pending().await,
    }
}

/// Waits until then, or for ever.
pub(super) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
