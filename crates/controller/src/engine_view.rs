//! What is durable: the read model, and the newest events for those who follow.

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

/// Events kept for followers. Who is further behind reads the journal: this is about a megabyte, and a second of a busy
/// leader.
const RECENT_MAX: usize = 16_384;

/// Terms of its own that a node keeps in mind: whoever tells of what happened is not so far behind.
const TERMS_MAX: usize = 64;

/// An engine, the position up to which it has folded the journal, and the batch that ends there.
pub(super) type EngineStartState = (Engine, Position, Option<BatchId>);

/// The state at a position of the journal.
#[derive(Debug)]
pub struct EngineView {
    /// An engine that has folded the events up to the position, and decides nothing.
    pub engine: Engine,
    /// How far that is.
    pub position: Position,
    /// Who leads, as far as this node knows; itself too.
    pub led_by: Option<CurrentLeader>,
    /// When this node last had everything that the journal had.
    pub caught_up: Instant,
    /// When this process saw the newest event that it has: so much time at least has passed since that was decided.
    pub(super) newest_seen: Instant,
    /// Why nothing becomes durable at the moment, while that is so.
    pub stalled: Option<StoreError>,
    /// The batch that ends at the position, and how many events it has; zero if only a snapshot tells of it.
    pub(super) last: Option<(BatchId, usize)>,
    /// What this node believes of its term, if it has one.
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

    /// Journal time now, as far as this process can tell: it is this or later.
    pub fn journal_now(&self) -> Time {
        let passed = u64::try_from(self.newest_seen.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.engine.now() + Span::millis(passed)
    }

    /// Whether this node led under a term: what was decided then is its own to tell.
    pub fn has_led(&self, term: Term) -> bool {
        self.terms.contains(&term)
    }

    /// Whether this node leads, by its own clock at this moment.
    pub fn leads(&self) -> bool {
        self.lease_status.as_ref().is_some_and(LeaderLeaseStatus::lasts)
    }

    /// The state and which events it was folded from; `None` before the first event.
    pub fn snapshot(&self) -> Option<JournalSnapshot> {
        let (position, (batch, _)) = (self.position, self.last?);
        Some(JournalSnapshot { position, batch, state: encode_state(&self.engine) })
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

    /// Batches follow each other without a gap, so what is not older than the first is in one of them.
    fn first_behind(&self, position: Position) -> Option<usize> {
        let is_kept = self.recent.front().is_some_and(|oldest| oldest.after() <= position);
        is_kept.then(|| self.recent.partition_point(|batch| batch.position() <= position))
    }
}

/// The view of a node, shared by all who look.
#[derive(Debug)]
pub struct SharedView {
    view: RwLock<EngineView>,
    moved: watch::Sender<Position>,
    /// Who may ask has changed.
    access: watch::Sender<()>,
}

impl SharedView {
    /// The view of an engine that has folded the journal up to a position.
    pub(super) fn new(start: EngineStartState) -> Self {
        let position = start.1;
        let view = EngineView::at(start);
        let (moved, access) = (watch::Sender::new(position), watch::Sender::new(()));
        Self { view: RwLock::new(view), moved, access }
    }

    /// Looks at the view. Keep it short: the leader waits to publish meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&EngineView) -> T) -> T {
        look(&self.read())
    }

    /// Tells whenever there is more.
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
            if self.look(&reached) {
                return;
            }
            drop(moved.changed().await);
        }
    }

    /// Tells whenever who may ask is not the same any more.
    pub fn access(&self) -> watch::Receiver<()> {
        self.access.subscribe()
    }

    /// Takes in events that have become durable, unless they are there already.
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

    /// Begins anew from a snapshot that is further than the view was.
    pub(super) fn replace(&self, start: EngineStartState) {
        let position = start.1;
        let mut view = self.write();
        let (led_by, terms) = (view.led_by.take(), std::mem::take(&mut view.terms));
        *view = EngineView { led_by, terms, ..EngineView::at(start) };
        drop(view);
        self.access.send_replace(());
        self.moved.send_replace(position);
    }

    /// Condemns these runs, and no others.
    pub(super) fn condemn(&self, condemned: BTreeSet<RunId>) {
        if self.look(|view| *view.engine.condemned() == condemned) {
            return;
        }
        let mut view = self.write();
        view.engine = view.engine.clone().with_condemned(condemned);
    }

    /// Notes whether the journal takes what the leader decides.
    pub(super) fn set_stalled(&self, stalled: Option<StoreError>) {
        let known = self.look(|view| view.stalled.is_none() && stalled.is_none());
        if !known {
            self.write().stalled = stalled;
        }
    }

    /// Notes that this node leads, for as long as it believes so. Who may ask depends on it.
    pub(super) fn set_leads(&self, belief: Option<LeaderLeaseStatus>) {
        self.write().lease_status = belief;
        self.access.send_replace(());
    }

    /// Notes that this node leads under a term.
    pub(super) fn note_term(&self, term: Term) {
        let mut view = self.write();
        view.terms.push_back(term);
        if view.terms.len() > TERMS_MAX {
            view.terms.pop_front();
        }
    }

    /// Notes who leads.
    pub(super) fn set_led_by(&self, leader: Option<CurrentLeader>) {
        if self.look(|view| view.led_by != leader) {
            self.write().led_by = leader;
        }
    }

    /// Notes how many events the batch at the position has.
    pub(super) fn note_last(&self, batch: BatchId, events: usize) {
        self.write().last = Some((batch, events));
    }

    /// Notes that this node has everything that the journal had when it was asked.
    pub(super) fn set_caught_up(&self, asked: Instant) {
        self.write().caught_up = asked;
    }

    /// A reader cannot leave the view half changed, and a writer that panics ends its node.
    fn read(&self) -> RwLockReadGuard<'_, EngineView> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, EngineView> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }
}
