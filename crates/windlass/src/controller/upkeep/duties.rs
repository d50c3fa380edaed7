//! The duties, one after the other, about once a second.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use windlass_core::engine::Request;
use windlass_core::id::RunId;
use windlass_core::time::{Span, Time};

use crate::archive::Archive;
use crate::controller::clock::JournalClock;
use crate::controller::handle::Handle;
use crate::controller::histories::{Due, Histories};
use crate::controller::view::{Followed, Follower, Published, View};
use crate::journal::{Journal, Position, Stored};
use crate::logs::LogStore;
use crate::shutdown::Shutdown;
use crate::store::StoreError;

/// How often the duties are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Runs that are sealed in one go: what has happened meanwhile is learnt before the next ones follow.
const SEALED_AT_ONCE: usize = 64;

/// How often it is looked for more that has come, in a row: others publish meanwhile.
const LEARNT_AT_ONCE: usize = 64;

/// Folding so many events takes a tenth of a second.
const SNAPSHOT_AFTER: u64 = 200_000;

/// How long a node that ends tidies up.
const TIDY_MAX: Duration = Duration::from_secs(2);

/// Events read from the journal at once.
const PAGE: usize = 16_384;

/// What is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    /// How long after its end a run is sealed: a lease's TTL at least, so that a late report finds it.
    pub seal_after: Span,
    /// Steps of ended runs that are kept for so long: a cluster that is busy would have to remember all of its last minute.
    pub ended_steps: u64,
    /// How long after their end the oldest of more are sealed: a lease's TTL at least, as above.
    pub seal_early: Span,
    /// How long sealed runs and their logs are kept.
    pub runs: Span,
    /// How long the keys of submissions are kept.
    pub keys: Span,
    /// Events after which a snapshot is worth its writing, at least.
    pub snapshot_after: u64,
    /// Steps from which a run that has ended is sealed before the node ends. Only where leader and worker share one fate:
    /// nobody reports late there, and the next start has nothing to fold.
    pub sealed_at_end: Option<u32>,
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            seal_after: Span::secs(60),
            ended_steps: 250_000,
            seal_early: Span::secs(15),
            runs: Span::hours(24 * 90),
            keys: Span::hours(24 * 7),
            snapshot_after: SNAPSHOT_AFTER,
            sealed_at_end: None,
        }
    }
}

impl Keeping {
    /// What is usual where leases last so long.
    pub fn of_leases(ttl: Span) -> Self {
        let usual = Self::default();
        let (seal_after, seal_early) = (usual.seal_after.max(ttl), usual.seal_early.max(ttl));
        Self { seal_after, seal_early, ..usual }
    }
}

/// How far the duties are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Done,
    MoreToSeal,
}

/// What a leader does beside leading.
#[derive(Debug)]
pub struct Upkeep {
    handle: Handle,
    journal: Arc<dyn Journal>,
    archive: Arc<dyn Archive>,
    logs: Arc<dyn LogStore>,
    keeping: Keeping,
    clock: JournalClock,
    histories: Arc<Histories>,
    /// Whether the view no longer has what comes next.
    is_behind: bool,
    /// The newest snapshot, once it is known.
    saved: Option<Position>,
    /// When superfluous things were last let go.
    let_go_at: Instant,
    /// The clock of this machine, if the journal's time is held against it, and whether the store has another.
    system: Option<(fn() -> Time, bool)>,
}

impl Upkeep {
    /// The upkeep of the node behind the handle.
    pub fn new(
        handle: Handle,
        journal: Arc<dyn Journal>,
        (archive, logs): (Arc<dyn Archive>, Arc<dyn LogStore>),
        keeping: Keeping,
    ) -> Self {
        let (clock, histories) = (JournalClock::starting_at(Time::ZERO), Arc::default());
        let (is_behind, saved) = (false, None);
        let let_go_at = Instant::now();
        Self {
            handle,
            journal,
            archive,
            logs,
            keeping,
            clock,
            histories,
            is_behind,
            saved,
            let_go_at,
            system: None,
        }
    }

    /// Holds the journal's time against the clock of this machine before it deletes; `store_has_own`: the journal's comes from
    /// another clock.
    #[must_use]
    pub fn against(mut self, clock: fn() -> Time, store_has_own: bool) -> Self {
        self.system = Some((clock, store_has_own));
        self
    }

    /// What it gathers of runs that are not sealed.
    pub const fn histories(&self) -> &Arc<Histories> {
        &self.histories
    }

    /// Keeps up until it is told to end. What fails because the store does not answer is done later.
    pub async fn run(mut self, mut shutdown: Shutdown) -> Result<(), StoreError> {
        let mut follower = self.handle.views().follow(Position(0));
        self.know_workers();
        let mut due = interval(EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.wait() => break,
                news = next(&mut follower), if !self.is_behind => self.hear(news),
                _ = due.tick() => {
                    let kept_up = tokio::select! {
                        () = shutdown.wait() => break,
                        kept_up = self.keep_up(&mut follower) => kept_up,
                    };
                    match kept_up {
                        Ok(Progress::Done) => {}
                        Ok(Progress::MoreToSeal) => due.reset_immediately(),
                        Err(error) if error.is_retryable() => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        // What is not done by then the next start does.
        drop(timeout(TIDY_MAX, self.tidy_up(&mut follower)).await);
        Ok(())
    }

    /// Seals large runs that have ended, so that the next start need not fold them.
    async fn tidy_up(&mut self, follower: &mut Follower) -> Result<(), StoreError> {
        let Some(steps) = self.keeping.sealed_at_end else { return Ok(()) };
        let last = self.handle.views().look(|view| view.leads().then(|| view.engine.now()));
        let Some(last) = last else { return Ok(()) };
        self.read_up_to_now(follower).await?;
        let runs = self.histories.ended_with(steps);
        if runs.is_empty() {
            return Ok(());
        }
        self.seal(runs).await?;
        self.keeping.snapshot_after = 0;
        let saved = self.save().await?;
        let now = self.now(last);
        self.let_go(saved, now).await
    }

    /// Workers may have registered before what is left of the journal.
    fn know_workers(&mut self) {
        let Self { handle, histories, .. } = self;
        handle.views().look(|view| {
            for worker in view.engine.workers() {
                histories.know_worker(worker.id, &worker.name);
            }
        });
    }

    fn hear(&mut self, (behind, news): News) {
        match news {
            Followed::Behind(_) => self.is_behind = true,
            Followed::Events(batches) => {
                for batch in batches {
                    self.histories.learn(&batch, behind);
                }
            }
        }
    }

    /// Waits for nothing.
    async fn learn_what_has_come(&mut self, follower: &mut Follower) {
        for _ in 0..LEARNT_AT_ONCE {
            if self.is_behind {
                return;
            }
            let mut next = pin!(next(follower));
            let come = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
            let Poll::Ready(news) = come else { return };
            self.hear(news);
        }
    }

    /// Reads from the journal what the view no longer has.
    async fn read_up_to_now(&mut self, follower: &mut Follower) -> Result<(), StoreError> {
        loop {
            let behind = follower.position();
            match self.journal.tail(behind, PAGE).await {
                Err(StoreError::Pruned { upto }) => {
                    self.histories.forget(upto);
                    follower.skip_to(upto);
                }
                page => {
                    let page = page?;
                    let Some(last) = page.last().map(|batch| batch.position) else { return Ok(()) };
                    for batch in page {
                        self.histories.learn(&published(batch), behind);
                    }
                    follower.skip_to(last);
                }
            }
        }
    }

    async fn keep_up(&mut self, follower: &mut Follower) -> Result<Progress, StoreError> {
        // What was sealed last is not to be sealed again.
        self.learn_what_has_come(follower).await;
        if self.is_behind {
            self.read_up_to_now(follower).await?;
            self.is_behind = false;
        }
        let last = self.handle.views().look(|view| view.leads().then(|| view.engine.now()));
        let Some(last) = last else {
            // Whoever leads saves snapshots of its own.
            self.saved = None;
            return Ok(Progress::Done);
        };
        let now = self.now(last);
        let due = Due {
            ended_by: now - self.keeping.seal_after,
            early_by: now - self.keeping.seal_early.min(self.keeping.seal_after),
            steps: self.keeping.ended_steps,
        };
        let runs = self.histories.due(due, SEALED_AT_ONCE);
        let progress =
            if runs.len() == SEALED_AT_ONCE { Progress::MoreToSeal } else { Progress::Done };
        self.seal(runs).await?;
        // Sealing may go on for long, and the journal must not grow meanwhile.
        if progress == Progress::Done || self.let_go_at.elapsed() >= EVERY {
            let saved = self.save().await?;
            self.let_go(saved, now).await?;
            self.let_go_at = Instant::now();
        }
        Ok(progress)
    }

    /// Journal time, of which the view knows only when the last event was: time passes too while nothing happens.
    fn now(&mut self, last: Time) -> Time {
        if self.clock.now() < last {
            self.clock = JournalClock::starting_at(last);
        }
        self.clock.now()
    }

    /// Archives runs that have ended and tells the leader, who lets them go.
    async fn seal(&mut self, runs: Vec<RunId>) -> Result<(), StoreError> {
        for run in runs {
            let Some(sealed) = self.histories.sealed(run) else { continue };
            self.archive.keep(sealed).await?;
            if self.handle.ask(Request::Seal { run }).await.is_err() {
                // Whoever leads now seals it: that it is archived already does no harm.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Saves a snapshot once the next start would have to fold much. Where there is much state it is saved less often: its
    /// writing must stay a small part of the work.
    async fn save(&mut self) -> Result<Position, StoreError> {
        let saved = match self.saved {
            Some(saved) => saved,
            None => self.journal.snapshot().await?.map_or(Position(0), |saved| saved.position),
        };
        self.saved = Some(saved);
        let (position, nodes) =
            self.handle.views().look(|view| (view.position, view.engine.counts().nodes as u64));
        if position.0.saturating_sub(saved.0) < self.keeping.snapshot_after.max(2 * nodes) {
            return Ok(saved);
        }
        let views = Arc::clone(self.handle.views());
        let snapshot = spawn_blocking(move || views.look(View::snapshot));
        let Ok(Some(snapshot)) = snapshot.await else { return Ok(saved) };
        let position = snapshot.position;
        self.journal.save(snapshot).await?;
        self.saved = Some(position);
        Ok(position)
    }

    /// Lets go what is in a snapshot and in the archive, and what has been kept long enough.
    async fn let_go(&self, saved: Position, now: Time) -> Result<(), StoreError> {
        let needed = self.histories.first().map_or(saved, |first| Position(first.0 - 1));
        let mut upto = Position(0);
        loop {
            let pruned = self.journal.prune(needed.min(saved)).await?;
            if pruned <= upto {
                break;
            }
            upto = pruned;
        }
        let now = self.handle.views().look(|view| match self.system {
            Some((clock, own)) => view.engine.deletes_by(now, clock(), own),
            None => view.engine.believed_time(now),
        });
        for run in self.archive.prune(now - self.keeping.runs, now - self.keeping.keys).await? {
            self.logs.remove(run).await?;
        }
        Ok(())
    }
}

/// What comes next, and where the follower stood before.
type News = (Position, Followed);

async fn next(follower: &mut Follower) -> News {
    let behind = follower.position();
    (behind, follower.next().await)
}

fn published(batch: Stored) -> Published {
    let events = batch.events.into_iter().map(|recorded| (recorded.at, recorded.event)).collect();
    Published::new(batch.position, events)
}
