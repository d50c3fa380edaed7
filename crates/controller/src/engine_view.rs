//! The view: the durable state of the cluster, and the newest events for followers.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;
use tokio::time::Instant;
use windlass_core::engine::{ApplyError, Engine};
use windlass_core::id::{RunId, Term};
use windlass_core::time::{Span, Time};
use windlass_store::db::StoreError;
use windlass_store::journal::{
    BatchId, CurrentLeader, Journal, JournalSnapshot, Position, encode_state,
};

use super::event_follower::EventFollower;
use super::leader_lease::LeaderLeaseStatus;
use super::published_events::PublishedEvents;

/// Events that the view keeps for followers, about a megabyte and a second of a busy leader. A follower that is further
/// behind reads the journal.
const RECENT_MAX: usize = 16_384;

/// Own terms that a node remembers. A reader of events is never further behind.
const TERMS_MAX: usize = 64;

/// An engine, the position up to which it has applied the journal, and the batch that ends there.
pub(super) type EngineStartState = (Engine, Position, Option<BatchId>);

/// The state at a position of the journal.
#[derive(Debug)]
pub struct EngineView {
    /// An engine that has applied the events up to the position. It makes no decisions.
    pub engine: Engine,
    /// The position of the last applied event.
    pub position: Position,
    /// The leader as far as this node knows. It can be this node.
    pub led_by: Option<CurrentLeader>,
    /// Whether this node stands by and passes requests to a leader on its host.
    pub is_connected: bool,
    /// The last time at which this node had every event of the journal.
    pub caught_up: Instant,
    /// The time at which this process saw its newest event. At least the time since then has passed since the decision.
    pub(super) newest_seen: Instant,
    /// The error that keeps events from becoming durable, while there is one.
    pub stalled: Option<StoreError>,
    /// The batch that ends at the position and its number of events, which is zero if only a snapshot names the batch.
    pub(super) last: Option<(BatchId, usize)>,
    /// The leader lease of this node, if it has one.
    lease_status: Option<LeaderLeaseStatus>,
    /// The newest terms under which this node has led.
    terms: VecDeque<Term>,
    recent: VecDeque<Arc<PublishedEvents>>,
    recent_events: usize,
}

impl EngineView {
    fn at((engine, position, batch): EngineStartState) -> Self {
        Self {
            engine,
            position,
            led_by: None,
            is_connected: false,
            caught_up: Instant::now(),
            newest_seen: Instant::now(),
            stalled: None,
            last: batch.map(|batch| (batch, 0)),
            lease_status: None,
            terms: VecDeque::new(),
            recent: VecDeque::new(),
            recent_events: 0,
        }
    }

    /// Returns the journal time as far as this process can tell: the true one is this or later.
    pub fn journal_now(&self) -> Time {
        let passed = u64::try_from(self.newest_seen.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.engine.now() + Span::millis(passed)
    }

    /// Whether this node led under a term. It reports the decisions of its own terms only.
    pub fn has_led(&self, term: Term) -> bool {
        self.terms.contains(&term)
    }

    /// Whether a request to this node reaches a leader.
    pub fn reaches_leader(&self) -> bool {
        self.is_connected || self.leads()
    }

    /// Whether this node leads at this moment, by its own clock.
    pub fn leads(&self) -> bool {
        self.lease_status.as_ref().is_some_and(LeaderLeaseStatus::lasts)
    }

    fn fold(&mut self, published: PublishedEvents) -> Result<(), ApplyError> {
        for recorded in published.events() {
            self.engine.apply(recorded.at, &recorded.event)?;
        }
        self.position = published.position();
        self.newest_seen = Instant::now();
        self.last = published.ended_batch();
        self.recent_events += published.events().len();
        self.recent.push_back(Arc::new(published));
        while self.recent_events > RECENT_MAX && self.recent.len() > 1 {
            let gone = self.recent.pop_front().map_or(0, |oldest| oldest.events().len());
            self.recent_events -= gone;
        }
        Ok(())
    }

    /// Returns the batches behind a position, at most this many. The first may begin before the position. `None` if the view
    /// no longer has the event behind the position: the journal has it.
    pub(super) fn recent_behind(
        &self,
        position: Position,
        most: usize,
    ) -> Option<Vec<Arc<PublishedEvents>>> {
        if position >= self.position {
            return Some(Vec::new());
        }
        let first = self.first_behind(position)?;
        Some(self.recent.iter().skip(first).take(most).map(Arc::clone).collect())
    }

    /// Returns the index of the batch that has the next event. Batches follow each other without a gap.
    fn first_behind(&self, position: Position) -> Option<usize> {
        let is_kept = self.recent.front().is_some_and(|oldest| oldest.after() <= position);
        is_kept.then(|| self.recent.partition_point(|batch| batch.position() <= position))
    }
}

/// The view of a node, shared by all readers.
#[derive(Debug)]
pub struct SharedView {
    view: RwLock<EngineView>,
    moved: watch::Sender<Position>,
    /// Sent when the set of allowed principals has changed.
    access: watch::Sender<()>,
}

impl SharedView {
    /// Returns the view of an engine that has applied the journal up to a position.
    pub(super) fn new(start: EngineStartState) -> Self {
        let position = start.1;
        let view = EngineView::at(start);
        let (moved, access) = (watch::Sender::new(position), watch::Sender::new(()));
        Self { view: RwLock::new(view), moved, access }
    }

    /// Reads the view. The leader waits to publish meanwhile, so `look` must be short.
    pub fn with<T>(&self, read: impl FnOnce(&EngineView) -> T) -> T {
        read(&self.read())
    }

    /// Returns the state and the batch at its position; `None` before the first event. Only the copy of the engine is made
    /// while the leader cannot publish: it shares the plans, and takes a fraction of the time of the encoding.
    pub fn snapshot(&self) -> Option<JournalSnapshot> {
        let (engine, position, last) =
            self.with(|view| (view.engine.clone(), view.position, view.last));
        let (batch, _) = last?;
        Some(JournalSnapshot { position, batch, state: encode_state(&engine) })
    }

    /// Returns a receiver of the position of the last durable event.
    pub fn moved(&self) -> watch::Receiver<Position> {
        self.moved.subscribe()
    }

    /// Follows the events behind a position. What the view no longer has is read from this journal.
    pub fn follow(self: &Arc<Self>, journal: &Arc<dyn Journal>, from: Position) -> EventFollower {
        EventFollower::new(Arc::clone(self), Arc::clone(journal), from)
    }

    /// Waits until the view meets a condition, which is tested whenever the view moves.
    pub async fn wait_for(&self, reached: impl Fn(&EngineView) -> bool) {
        let mut moved = self.moved();
        loop {
            moved.mark_unchanged();
            if self.with(&reached) {
                return;
            }
            drop(moved.changed().await);
        }
    }

    /// Returns a receiver that is notified when the set of allowed principals has changed.
    pub fn access(&self) -> watch::Receiver<()> {
        self.access.subscribe()
    }

    /// Applies events that have become durable, unless the view has them already.
    pub(super) fn publish(&self, published: PublishedEvents) -> Result<(), ApplyError> {
        let position = published.position();
        let mut view = self.write();
        if position <= view.position {
            return Ok(());
        }
        assert_eq!(published.after(), view.position, "events are published in order");
        let access = published.events().iter().any(|recorded| recorded.event.changes_access());
        view.fold(published)?;
        drop(view);
        if access {
            self.access.send_replace(());
        }
        self.moved.send_replace(position);
        Ok(())
    }

    /// Starts again from a snapshot that is newer than the view.
    pub(super) fn replace(&self, start: EngineStartState) {
        let position = start.1;
        let mut view = self.write();
        let (led_by, terms) = (view.led_by.take(), std::mem::take(&mut view.terms));
        let is_connected = view.is_connected;
        *view = EngineView { led_by, is_connected, terms, ..EngineView::at(start) };
        drop(view);
        self.access.send_replace(());
        self.moved.send_replace(position);
    }

    /// Sets the condemned runs.
    pub(super) fn condemn(&self, condemned: BTreeSet<RunId>) {
        if self.with(|view| *view.engine.condemned() == condemned) {
            return;
        }
        let mut view = self.write();
        view.engine = view.engine.clone().with_condemned(condemned);
    }

    /// Records whether the journal accepts the leader's events.
    pub(super) fn set_stalled(&self, stalled: Option<StoreError>) {
        let known = self.with(|view| view.stalled.is_none() && stalled.is_none());
        if !known {
            self.write().stalled = stalled;
        }
    }

    /// Sets the leader lease, which decides whether this node leads. Authorization depends on it.
    pub(super) fn set_leads(&self, status: Option<LeaderLeaseStatus>) {
        self.write().lease_status = status;
        self.access.send_replace(());
    }

    /// Records a term under which this node leads.
    pub(super) fn note_term(&self, term: Term) {
        let mut view = self.write();
        view.terms.push_back(term);
        if view.terms.len() > TERMS_MAX {
            view.terms.pop_front();
        }
    }

    /// Sets the leader.
    pub(super) fn set_led_by(&self, leader: Option<CurrentLeader>) {
        if self.with(|view| view.led_by != leader) {
            self.write().led_by = leader;
        }
    }

    /// Records whether this node passes requests to a leader on its host.
    pub(super) fn set_connected(&self, is_connected: bool) {
        let mut view = self.write();
        view.is_connected = is_connected;
        let position = view.position;
        drop(view);
        self.moved.send_replace(position);
    }

    /// Sets the number of events of the batch at the position.
    pub(super) fn note_last(&self, batch: BatchId, events: usize) {
        self.write().last = Some((batch, events));
    }

    /// Records that this node has every event that the journal had at this time.
    pub(super) fn set_caught_up(&self, asked_at: Instant) {
        self.write().caught_up = asked_at;
    }

    /// Ignores poisoning: a reader cannot leave the view half changed, and a writer that panics ends its node.
    fn read(&self) -> RwLockReadGuard<'_, EngineView> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, EngineView> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }
}
