//! The loop that keeps the SQL views up to date.

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
use crate::engine_view::SharedView;
use crate::event_follower::EventFollower;
use crate::handle::NodeHandle;

/// The time between two looks at the state.
const EVERY: Duration = Duration::from_secs(1);

/// The interval at which the tables state that they are up to date although nothing has changed.
const IDLE_EVERY: Duration = Duration::from_secs(10);

/// The time for which one look may delay the leader. The next look sees the rest.
const LOOK_SLICE: Duration = Duration::from_millis(1);

/// The length of the pause after a write, as a multiple of the time that the write took. The loop thus uses at most a
/// fifth of one core.
const REST_FACTOR: u32 = 4;

/// The time that the leader may take to return the contact times of its workers.
const HEAR_WITHIN: Duration = Duration::from_millis(200);

/// The first and the longest pause after a write that failed.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Keeps the SQL views up to date while its node leads.
#[derive(Debug)]
pub struct SqlViewUpdater {
    views: Arc<SharedView>,
    tables: Arc<dyn SqlViews>,
    follower: EventFollower,
    held: SqlViewWriteState,
    /// The leader, if the views show contact times.
    leader: Option<NodeHandle>,
}

/// What is known about the tables.
#[derive(Debug, Default)]
struct SqlViewWriteState {
    written: WrittenViewRows,
    /// Their mark; `None` before the first write.
    mark: Option<SqlViewsMark>,
    /// The position that they show, and the time of that write.
    as_of: Option<(Position, Instant)>,
    /// The newest event in them.
    events_upto: Position,
}

impl SqlViewUpdater {
    /// Returns an updater for the node behind the handle.
    pub fn new(handle: &NodeHandle, journal: &Arc<dyn Journal>, tables: Arc<dyn SqlViews>) -> Self {
        let leader = tables.shows_contacts().then(|| handle.clone());
        Self { leader, ..Self::of(Arc::clone(handle.views()), journal, tables) }
    }

    pub(super) fn of(
        views: Arc<SharedView>,
        journal: &Arc<dyn Journal>,
        tables: Arc<dyn SqlViews>,
    ) -> Self {
        let follower = views.follow(journal, Position(0));
        Self { views, tables, follower, held: SqlViewWriteState::default(), leader: None }
    }

    /// Updates the views until shutdown, and a last time then. Shut it down after the node, so that the views show the
    /// end.
    ///
    /// Errors of the store are retried. The returned error is that of the last write: the views are older than they
    /// should be, or missing.
    pub async fn run(mut self, mut shutdown: ShutdownReceiver) -> Result<(), StoreError> {
        let mut pause = PAUSE_MIN;
        while !shutdown.is_due() {
            let kept = self.keep(&mut shutdown).await;
            // After an error everything is written anew, because it is unknown what was written.
            let wait = if kept.is_ok() { EVERY } else { pause };
            pause = if kept.is_ok() { PAUSE_MIN } else { (pause * 2).min(PAUSE_MAX) };
            rest(wait, &mut shutdown).await;
        }
        // The node may have given its term back by now. The write checks that the tables still belong to this updater.
        if self.held.mark.is_some() { self.scan(&mut shutdown).await } else { Ok(()) }
    }

    /// Looks once, if this node leads. A node that does not lead does not touch the tables.
    pub(super) async fn keep(&mut self, shutdown: &mut ShutdownReceiver) -> Result<(), StoreError> {
        let (leads, position) = self.views.with(|view| (view.leads(), view.position));
        if !leads {
            self.held = SqlViewWriteState::default();
            return Ok(());
        }
        let is_current =
            |(at, since): (Position, Instant)| at == position && since.elapsed() < IDLE_EVERY;
        self.refresh_contacts().await;
        if self.held.as_of.is_some_and(is_current) {
            return self.renew(shutdown).await;
        }
        self.scan(shutdown).await
    }

    /// Asks the leader for the contact times of its workers, for a short time.
    async fn refresh_contacts(&mut self) {
        let Some(leader) = &self.leader else { return };
        if let Ok(Ok(contacts)) = timeout(HEAR_WITHIN, leader.call(EngineCall::contacts())).await {
            self.held.written.heard.set_contacts(contacts);
        }
    }

    /// Writes new contact times when nothing else has changed.
    async fn renew(&mut self, shutdown: &mut ShutdownReceiver) -> Result<(), StoreError> {
        let follows = self.held.mark;
        let mut diff = SqlViewsDiff::new(follows, next(follows));
        let heard = &mut self.held.written.heard;
        self.views.with(|view| {
            diff.term = view.engine.term();
            heard.scan(&view.engine, &mut diff);
        });
        if !diff.contacts.heard.is_empty()
            && self.write(diff, shutdown).await? == SqlViewsOutcome::Conflict
        {
            self.held = SqlViewWriteState::default();
        }
        Ok(())
    }

    /// Looks at everything once, in slices, and writes the changes, in parts if there are many.
    async fn scan(&mut self, shutdown: &mut ShutdownReceiver) -> Result<(), StoreError> {
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

    /// Looks slice by slice until the difference is large enough to write or nothing is left.
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
            let (now, progress) = self.views.with(|view| {
                let now = SqlViewsAsOf { position: view.position, at: view.engine.now() };
                (now, shadow.scan(&view.engine, &mut diff, cursor, until))
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
            // Other tasks that wait for the lock or for this thread come first.
            yield_now().await;
        }
    }

    /// Writes a difference, repeatedly if need be. Returns an error that does not pass, or any error at shutdown.
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

    /// Returns the newest events up to a position that the tables lack.
    async fn events(&mut self, upto: Position) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        let oldest = upto.0.saturating_sub(EVENTS_MAX);
        let from = Position(oldest.max(self.held.events_upto.0));
        self.held.events_upto = upto;
        self.follower.skip_to(from);
        let mut events = Vec::new();
        while self.follower.position() < upto {
            let Some(followed) = self.follower.read().await? else { break };
            let wanted = followed.iter().filter(|recorded| recorded.position <= upto);
            events.extend(wanted.map(Arc::clone));
        }
        Ok(events)
    }
}

/// Returns the next mark, or the first one of a new writer.
fn next(mark: Option<SqlViewsMark>) -> SqlViewsMark {
    let first = || SqlViewsMark { writer: RandomState::new().hash_one(0), write: 0 };
    mark.map_or_else(first, |mark| SqlViewsMark { write: mark.write + 1, ..mark })
}

/// Waits, or returns at shutdown.
async fn rest(wait: Duration, shutdown: &mut ShutdownReceiver) {
    tokio::select! {
        () = sleep(wait) => {}
        () = shutdown.wait() => {}
    }
}
