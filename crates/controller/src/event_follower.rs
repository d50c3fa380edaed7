//! Follows durable events: from the view while it has them, otherwise from the journal.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, Position, RecordedEvent};

use super::engine_view::SharedView;
use super::published_events::PublishedEvents;

/// The pause after a journal that failed, or that does not have yet what the view has.
const JOURNAL_PAUSE: Duration = Duration::from_secs(1);

/// The largest number of events and batches that a follower reads at a time.
#[derive(Clone, Copy, Debug)]
pub struct FollowLimits {
    /// Batches that are taken from the view.
    pub recent_batches: usize,
    /// Events that are read from the journal, about: a batch is not cut.
    pub journal_events: usize,
}

impl Default for FollowLimits {
    fn default() -> Self {
        Self { recent_batches: usize::MAX, journal_events: 16_384 }
    }
}

/// Reads every durable event once, in order.
///
/// The view keeps the newest batches. A follower that is further behind reads the journal, and returns to the view once it
/// has caught up. Events that were pruned from the journal in the meantime are skipped, and the follower says so.
#[derive(Debug)]
pub struct EventFollower {
    views: Arc<SharedView>,
    journal: Arc<dyn Journal>,
    limits: FollowLimits,
    moved: watch::Receiver<Position>,
    position: Position,
    /// The journal is not read before.
    paused_until: Option<Instant>,
}

/// The next events of a follower.
#[derive(Debug)]
pub struct FollowedEvents {
    after: Position,
    batches: Vec<Arc<PublishedEvents>>,
    pruned: Option<Position>,
}

impl EventFollower {
    /// Follows the events behind a position.
    pub(super) fn new(views: Arc<SharedView>, journal: Arc<dyn Journal>, from: Position) -> Self {
        let (limits, moved) = (FollowLimits::default(), views.moved());
        Self { views, journal, limits, moved, position: from, paused_until: None }
    }

    /// The same follower with other limits.
    #[must_use]
    pub fn with_limits(self, limits: FollowLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the position of the last event that was read or skipped.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// Continues behind this position.
    pub const fn skip_to(&mut self, position: Position) {
        self.position = position;
    }

    /// Whether the next events are no longer in the view, so that they are read from the journal.
    pub fn is_behind(&self) -> bool {
        self.views.with(|view| view.recent_behind(self.position, 1).is_none())
    }

    /// Waits for the next events. The future can be dropped: no event is lost.
    pub async fn next(&mut self) -> Result<FollowedEvents, StoreError> {
        loop {
            self.wait().await;
            if let Some(found) = self.read().await? {
                return Ok(found);
            }
        }
    }

    /// Waits for the next events like [`next`](Self::next), and repeats a read that failed.
    pub async fn next_retrying(&mut self) -> FollowedEvents {
        loop {
            if let Ok(found) = self.next().await {
                return found;
            }
        }
    }

    /// Waits until there is something to read.
    pub async fn wait(&mut self) {
        if let Some(until) = self.paused_until {
            sleep_until(until).await;
            self.paused_until = None;
        }
        loop {
            self.moved.mark_unchanged();
            if self.views.with(|view| view.position) > self.position {
                return;
            }
            // The follower owns the view, and with it the sender: this waits for a change, or forever.
            drop(self.moved.changed().await);
        }
    }

    /// Reads the next events, if there are any now.
    pub async fn read(&mut self) -> Result<Option<FollowedEvents>, StoreError> {
        let (after, most) = (self.position, self.limits.recent_batches);
        let recent = self.views.with(|view| view.recent_behind(after, most));
        if let Some(batches) = recent {
            return Ok(self.advance(batches));
        }
        let found = self.read_journal().await;
        if !matches!(found, Ok(Some(_))) {
            self.paused_until = Some(Instant::now() + JOURNAL_PAUSE);
        }
        found
    }

    async fn read_journal(&mut self) -> Result<Option<FollowedEvents>, StoreError> {
        let after = self.position;
        match self.journal.tail(after, self.limits.journal_events).await {
            Err(StoreError::Pruned { upto }) if upto > after => {
                self.position = upto;
                Ok(Some(FollowedEvents { after, batches: Vec::new(), pruned: Some(upto) }))
            }
            page => {
                let batches = page?.into_iter().map(|batch| Arc::new(PublishedEvents::new(batch)));
                Ok(self.advance(batches.collect()))
            }
        }
    }

    fn advance(&mut self, batches: Vec<Arc<PublishedEvents>>) -> Option<FollowedEvents> {
        let last = batches.last()?.position();
        let after = std::mem::replace(&mut self.position, last);
        Some(FollowedEvents { after, batches, pruned: None })
    }
}

impl FollowedEvents {
    /// Returns the events, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<RecordedEvent>> {
        let events = self.batches.iter().flat_map(|batch| batch.events());
        events.skip_while(|recorded| recorded.position <= self.after)
    }

    /// Returns the position that the events follow.
    pub const fn after(&self) -> Position {
        self.after
    }

    /// Returns the batches that contain the events. The first batch may begin before [`after`](Self::after).
    pub fn batches(&self) -> &[Arc<PublishedEvents>] {
        &self.batches
    }

    /// Returns the position up to which events were pruned before they could be read. There are no events then.
    pub const fn pruned(&self) -> Option<Position> {
        self.pruned
    }
}
