//! The leader lease: a task renews it, and the leader checks that it is still valid.
//!
//! Both count on the node's own clock, which goes on while the machine is suspended, and from before the store was
//! asked. Code that needs to know whether this node leads asks the [`LeaderLeaseStatus`], which reads that clock. A
//! process that was stopped beyond its term therefore learns first that the term is over.

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

/// The resolution of the clock: the lease is invalid this long after the last moment at which it was valid.
const TICK: Span = Span::millis(1);

/// A leader's lease and the task that renews it. Dropping it ends the renewals.
#[derive(Debug)]
pub(super) struct LeaderLeaseTask {
    lease_status: LeaderLeaseStatus,
    renewal: JoinHandle<()>,
}

/// The state of a leader lease, for its readers.
#[derive(Clone, Debug)]
pub(super) struct LeaderLeaseStatus {
    /// `None` once the term has passed.
    tenure: watch::Receiver<Option<LeaderLease>>,
    clock: ProcessClock,
}

impl LeaderLeaseStatus {
    /// Returns a status that follows this lease.
    pub(super) fn new(
        held: LeaderLease,
        clock: ProcessClock,
    ) -> (watch::Sender<Option<LeaderLease>>, Self) {
        let (sender, tenure) = watch::channel(Some(held));
        (sender, Self { tenure, clock })
    }

    /// Whether the leader may still act as such. This reads the clock: a process that was stopped for a while may get
    /// every other message before it gets the end of the lease.
    pub(super) fn lasts(&self) -> bool {
        self.tenure.borrow().is_some_and(|held| held.is_valid(self.clock.now()))
    }
}

impl LeaderLeaseTask {
    /// Starts to renew a lease whose term was requested at a time of the node's own clock.
    pub(super) fn begin(
        journal: &Arc<dyn Journal>,
        won: &JournalLeadership,
        asked_at: Time,
        clock: ProcessClock,
    ) -> Self {
        let held = LeaderLease::won(won.lasts, asked_at, clock.now());
        let (tenure, lease_status) = LeaderLeaseStatus::new(held, clock);
        let renewal =
            LeaderLeaseRenewal { journal: Arc::clone(journal), term: won.term, clock, tenure };
        Self { lease_status, renewal: tokio::spawn(renewal.run(held)) }
    }

    /// Returns the status, for readers.
    pub(super) const fn status(&self) -> &LeaderLeaseStatus {
        &self.lease_status
    }

    /// Whether the leader may still act as such.
    pub(super) fn lasts(&self) -> bool {
        self.lease_status.lasts()
    }

    /// Waits until the lease is no longer valid.
    pub(super) async fn expired(&mut self) {
        let LeaderLeaseStatus { tenure, clock } = &mut self.lease_status;
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

/// Renews a lease on a task of its own, so that the leader's work cannot delay a renewal.
struct LeaderLeaseRenewal {
    journal: Arc<dyn Journal>,
    term: Term,
    clock: ProcessClock,
    tenure: watch::Sender<Option<LeaderLease>>,
}

impl LeaderLeaseRenewal {
    /// Renews until the term has passed. Without an answer the lease expires by itself.
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

/// Waits until this time, or forever.
async fn sleep_until_time(clock: &ProcessClock, at: Option<Time>) {
    match at {
        Some(at) => clock.sleep_until(at).await,
        None => pending().await,
    }
}

/// Waits until this instant, or forever.
pub(super) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
