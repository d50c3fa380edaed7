//! The loop that keeps the tables.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};
use windlass_core::engine::EngineCall;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, Position, RecordedEvent};
use windlass_store::sql_views::{
    EVENTS_MAX, SqlViews, SqlViewsAsOf, SqlViewsDiff, SqlViewsMark, SqlViewsOutcome,
};

use super::diff::{DiffCursor, DiffProgress, WrittenViewRows};
use crate::engine_view::{EventFollower, FollowedEvents, PublishedEvents, SharedView};
use crate::handle::NodeHandle;

/// How often the state is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// How often the tables say that they are up to date although nothing has changed.
const IDLE_EVERY: Duration = Duration::from_secs(10);

/// How long one look may keep the leader waiting; what is not seen by then is seen in the next one.
const LOOK_SLICE: Duration = Duration::from_millis(1);

/// After each write it rests so many times as long as it worked: a fifth of one core is the most that it takes.
const REST_FACTOR: u32 = 4;

/// How long the leader may take to say when it heard its workers.
const HEAR_WITHIN: Duration = Duration::from_millis(200);

/// The pause after a write that failed, at first and at most.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Keeps the tables while its node leads.
#[derive(Debug)]
pub struct SqlViewUpdater {
    views: Arc<SharedView>,
    journal: Arc<dyn Journal>,
    tables: Arc<dyn SqlViews>,
    follower: EventFollower,
    held: SqlViewWriteState,
    /// Whom to ask when workers were heard.
    leader: Option<NodeHandle>,
}

/// What is known of the tables.
#[derive(Debug, Default)]
struct SqlViewWriteState {
    written: WrittenViewRows,
    /// Their state; `None` before the first write.
    mark: Option<SqlViewsMark>,
    /// How new they are, and since when they say so.
    as_of: Option<(Position, Instant)>,
    /// The newest event in them.
    events_upto: Position,
}

impl SqlViewUpdater {
    /// The keeper of the tables of the node behind the handle. It reads from the journal what the node no longer has in
    /// mind of the newest events.
    pub fn new(handle: &NodeHandle, journal: Arc<dyn Journal>, tables: Arc<dyn SqlViews>) -> Self {
        let leader = tables.shows_contacts().then(|| handle.clone());
        Self { leader, ..Self::of(Arc::clone(handle.views()), journal, tables) }
    }

    pub(super) fn of(
        views: Arc<SharedView>,
        journal: Arc<dyn Journal>,
        tables: Arc<dyn SqlViews>,
    ) -> Self {
        let follower = views.follow(Position(0));
        Self { views, journal, tables, follower, held: SqlViewWriteState::default(), leader: None }
    }

    /// Keeps the tables until it is told to end, and brings them up to date then. To be told after the node, so that they
    /// show the end.
    ///
    /// Errors of the store are retried. The one that is returned is that of the last write: the tables are older than
    /// they should be, or not there.
    pub async fn run(mut self, mut shutdown: ShutdownReceiver) -> Result<(), StoreError> {
        let mut pause = PAUSE_MIN;
        while !shutdown.is_due() {
            let kept = self.keep(&mut shutdown).await;
            // After an error all of it is made anew: it is not known what was written.
            let wait = if kept.is_ok() { EVERY } else { pause };
            pause = if kept.is_ok() { PAUSE_MIN } else { (pause * 2).min(PAUSE_MAX) };
            rest(wait, &mut shutdown).await;
        }
        // The node may have given back its term by now. That the tables are still this one's is checked with the write.
        if self.held.mark.is_some() { self.look(&mut shutdown).await } else { Ok(()) }
    }

    /// One look, if this node leads. Whoever does not lead leaves the tables to who does.
    pub(super) async fn keep(&mut self, shutdown: &mut ShutdownReceiver) -> Result<(), StoreError> {
        let (leads, position) = self.views.look(|view| (view.leads(), view.position));
        if !leads {
            self.held = SqlViewWriteState::default();
            return Ok(());
        }
        let told =
            |(at, since): (Position, Instant)| at == position && since.elapsed() < IDLE_EVERY;
        self.refresh_contacts().await;
        if self.held.as_of.is_some_and(told) {
            return self.renew(shutdown).await;
        }
        self.look(shutdown).await
    }

    /// Asks when workers were heard. A leader that cannot say is not waited for.
    async fn refresh_contacts(&mut self) {
        let Some(leader) = &self.leader else { return };
        if let Ok(Ok(contacts)) = timeout(HEAR_WITHIN, leader.call(EngineCall::contacts())).await {
            self.held.written.heard.set_contacts(contacts);
        }
    }

    /// Nothing has happened but that workers were heard.
    async fn renew(&mut self, shutdown: &mut ShutdownReceiver) -> Result<(), StoreError> {
        let follows = self.held.mark;
        let mut diff = SqlViewsDiff::new(follows, next(follows));
        let heard = &mut self.held.written.heard;
        self.views.look(|view| {
            diff.term = view.engine.term();
            heard.look(&view.engine, &mut diff);
        });
        if !diff.contacts.heard.is_empty()
            && self.write(diff, shutdown).await? == SqlViewsOutcome::Conflict
        {
            self.held = SqlViewWriteState::default();
        }
        Ok(())
    }

    /// Looks at everything once, in slices, and writes what has changed, in parts if it is much.
    async fn look(&mut self, shutdown: &mut ShutdownReceiver) -> Result<(), StoreError> {
        let mut cursor = DiffCursor::default();
        let mut as_of = None;
        loop {
            let began = Instant::now();
            let (diff, progress) = self.gather(&mut cursor, &mut as_of).await?;
            if self.write(diff, shutdown).await? == SqlViewsOutcome::Conflict {
                self.held = SqlViewWriteState::default();
                return Ok(());
            }
            rest(began.elapsed() * REST_FACTOR, shutdown).await;
            if progress == DiffProgress::Through {
                self.held.as_of = as_of.map(|as_of| (as_of.position, Instant::now()));
                return Ok(());
            }
        }
    }

    /// Looks slice by slice until there is enough to write or nothing more to see.
    async fn gather(
        &mut self,
        cursor: &mut DiffCursor,
        as_of: &mut Option<SqlViewsAsOf>,
    ) -> Result<(SqlViewsDiff, DiffProgress), StoreError> {
        let follows = self.held.mark;
        let mut diff = SqlViewsDiff::new(follows, next(follows));
        loop {
            let shadow = &mut self.held.written;
            let until = Instant::now() + LOOK_SLICE;
            let (now, progress) = self.views.look(|view| {
                let now = SqlViewsAsOf { position: view.position, at: view.engine.now() };
                (now, shadow.look(&view.engine, &mut diff, cursor, until))
            });
            if as_of.is_none() {
                *as_of = Some(now);
                diff.events = self.events(now.position).await?;
            }
            if progress == DiffProgress::Through {
                diff.as_of = *as_of;
                return Ok((diff, progress));
            }
            if diff.is_large() {
                return Ok((diff, progress));
            }
            // Whoever waits for the lock, or for this thread, comes first.
            yield_now().await;
        }
    }

    /// Writes a difference, as often as it takes. An error is returned if there is no hope, or no time.
    async fn write(
        &mut self,
        diff: SqlViewsDiff,
        shutdown: &mut ShutdownReceiver,
    ) -> Result<SqlViewsOutcome, StoreError> {
        let mut pause = PAUSE_MIN;
        let diff = Arc::new(diff);
        loop {
            match self.tables.write(Arc::clone(&diff)).await {
                Ok(written) => {
                    self.held.mark = Some(diff.mark);
                    return Ok(written);
                }
                Err(error) if error.is_retryable() && !shutdown.is_due() => {
                    rest(pause, shutdown).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(error) => {
                    self.held = SqlViewWriteState::default();
                    return Err(error);
                }
            }
        }
    }

    /// The newest events up to a position that the tables do not have.
    async fn events(
        &mut self,
        upto: Position,
    ) -> Result<Vec<(Position, RecordedEvent)>, StoreError> {
        let oldest = upto.0.saturating_sub(EVENTS_MAX);
        let from = Position(oldest.max(self.held.events_upto.0));
        self.held.events_upto = upto;
        if from >= upto {
            return Ok(Vec::new());
        }
        self.follower.skip_to(from);
        // It does not wait: the view has events behind `from`.
        match self.follower.next().await {
            FollowedEvents::Events(batches) => {
                let events = batches.iter().flat_map(|batch| numbered(batch));
                Ok(events.filter(|(at, _)| *at > from && *at <= upto).collect())
            }
            FollowedEvents::Behind(_) => self.read(from, upto).await,
        }
    }

    /// Reads events from the journal, as far as they are there.
    async fn read(
        &self,
        mut from: Position,
        upto: Position,
    ) -> Result<Vec<(Position, RecordedEvent)>, StoreError> {
        let mut events = Vec::new();
        while from < upto {
            let most = usize::try_from(upto.0 - from.0).unwrap_or(usize::MAX);
            let page = match self.journal.tail(from, most).await {
                Err(StoreError::Pruned { upto }) if upto > from => {
                    from = upto;
                    continue;
                }
                page => page?,
            };
            let Some(last) = page.last().map(|batch| batch.position) else { break };
            for batch in page {
                let positions = (batch.after().0 + 1..).map(Position);
                let numbered = positions.zip(batch.events);
                events.extend(numbered.filter(|(at, _)| *at > from && *at <= upto));
            }
            from = last;
        }
        Ok(events)
    }
}

fn numbered(batch: &PublishedEvents) -> impl Iterator<Item = (Position, RecordedEvent)> {
    let recorded = |(at, event): &(_, windlass_core::engine::Event)| RecordedEvent {
        at: *at,
        event: event.clone(),
    };
    batch.numbered().map(move |(position, event)| (position, recorded(event)))
}

/// The state behind this one, or the first of a new writer's.
fn next(mark: Option<SqlViewsMark>) -> SqlViewsMark {
    let first = || SqlViewsMark { writer: RandomState::new().hash_one(0), write: 0 };
    mark.map_or_else(first, |mark| SqlViewsMark { write: mark.write + 1, ..mark })
}

/// Waits, unless it is time to end.
async fn rest(wait: Duration, shutdown: &mut ShutdownReceiver) {
    tokio::select! {
        () = sleep(wait) => {}
        () = shutdown.wait() => {}
    }
}
