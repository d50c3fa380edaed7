//! Learns durable events, ticks the machine, and waits for the effects that it requests.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use windlass_core::maintenance::{
    Maintenance, MaintenanceEffect, MaintenanceObservation, MaintenanceOutcome,
};
use windlass_core::time::Time;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::archive::Archive;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, Position, StoredBatch};
use windlass_store::logs::LogStore;

use super::RetentionSettings;
use super::effects::MaintenanceEffectRunner;
use crate::engine_view::{EventFollower, FollowedEvents, PublishedEvents};
use crate::handle::NodeHandle;
use crate::journal_clock::JournalClock;
use crate::run_histories::RunHistories;

/// How often the machine looks at everything.
const EVERY: Duration = Duration::from_secs(1);

/// Batches of events that are learnt in a row: others publish meanwhile.
const LEARNT_AT_ONCE: usize = 64;

/// How long a node that ends goes on with maintenance.
const SHUTDOWN_WORK_MAX: Duration = Duration::from_secs(2);

/// Events read from the journal at once.
const PAGE: usize = 16_384;

/// An effect that ended, with its outcome.
type FinishedEffect = (MaintenanceEffect, Result<MaintenanceOutcome, StoreError>);

/// The maintenance of the node behind a handle: it carries out what [`Maintenance`] decides.
#[derive(Debug)]
pub struct MaintenanceDriver {
    machine: Maintenance,
    runner: MaintenanceEffectRunner,
    in_flight: JoinSet<FinishedEffect>,
    clock: JournalClock,
    /// Whether the view no longer has what comes next.
    is_behind: bool,
}

impl MaintenanceDriver {
    /// The maintenance of the node behind the handle.
    pub fn new(
        handle: NodeHandle,
        journal: Arc<dyn Journal>,
        (archive, logs): (Arc<dyn Archive>, Arc<dyn LogStore>),
        keeping: RetentionSettings,
    ) -> Self {
        let (histories, system) = (Arc::default(), None);
        let runner =
            MaintenanceEffectRunner { handle, journal, archive, logs, histories, keeping, system };
        Self {
            machine: Maintenance::new(keeping),
            runner,
            in_flight: JoinSet::new(),
            clock: JournalClock::starting_at(Time::ZERO),
            is_behind: false,
        }
    }

    /// Compares the journal's time with the clock of this machine before it deletes; `store_has_own`: the journal's time
    /// comes from another clock.
    #[must_use]
    pub fn against(mut self, clock: fn() -> Time, store_has_own: bool) -> Self {
        self.runner.system = Some((clock, store_has_own));
        self
    }

    /// The events of unsealed runs, which it gathers.
    pub const fn histories(&self) -> &Arc<RunHistories> {
        &self.runner.histories
    }

    /// Maintains until it is told to end. An effect that fails because the store does not answer is repeated later.
    pub async fn run(mut self, mut shutdown: ShutdownReceiver) -> Result<(), StoreError> {
        let mut follower = self.runner.handle.views().follow(Position(0));
        self.know_workers();
        let mut due = interval(EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.wait() => break,
                news = next(&mut follower), if !self.is_behind => self.apply_batch(news),
                finished = next_finished(&mut self.in_flight) => {
                    // What was sealed last is not to be sealed again.
                    self.learn_what_has_come(&mut follower).await;
                    self.finish(finished)?;
                }
                _ = due.tick() => {
                    tokio::select! {
                        () = shutdown.wait() => break,
                        ticked = self.tick(&mut follower) => retried(ticked)?,
                    }
                }
            }
        }
        // The next start does the rest.
        drop(timeout(SHUTDOWN_WORK_MAX, self.finish_before_shutdown(&mut follower)).await);
        Ok(())
    }

    async fn tick(&mut self, follower: &mut EventFollower) -> Result<(), StoreError> {
        self.learn_what_has_come(follower).await;
        if self.is_behind {
            self.read_up_to_now(follower).await?;
            self.is_behind = false;
        }
        let seen = self.observe();
        if !seen.leads && self.machine.has_incomplete_archives() {
            self.forget_pruned().await?;
        }
        let effects = self.machine.tick(&seen);
        self.start(effects, seen.now);
        Ok(())
    }

    /// Seals large runs that have ended and saves a snapshot, so that the next start need not fold them.
    async fn finish_before_shutdown(
        &mut self,
        follower: &mut EventFollower,
    ) -> Result<(), StoreError> {
        let seen = self.observe();
        if !seen.leads {
            return Ok(());
        }
        self.read_up_to_now(follower).await?;
        let Some(effects) = self.machine.seal_large() else { return Ok(()) };
        self.start(effects, seen.now);
        self.finish_all().await?;
        // Find the newest snapshot, save another one, prune.
        for _ in 0..3 {
            self.learn_what_has_come(follower).await;
            let seen = self.observe();
            let effects = self.machine.tick(&seen);
            self.start(effects, seen.now);
            self.finish_all().await?;
        }
        Ok(())
    }

    async fn finish_all(&mut self) -> Result<(), StoreError> {
        while !self.in_flight.is_empty() {
            let finished = next_finished(&mut self.in_flight).await;
            self.finish(finished)?;
        }
        Ok(())
    }

    fn start(&mut self, effects: Vec<MaintenanceEffect>, now: Time) {
        for effect in effects {
            let runner = self.runner.clone();
            self.in_flight.spawn(async move { (effect, runner.run(effect, now).await) });
        }
    }

    fn finish(&mut self, (effect, outcome): FinishedEffect) -> Result<(), StoreError> {
        let seen = self.observe();
        let effects = self.machine.finished(effect, outcome?, &seen);
        self.forget_settled_runs();
        self.start(effects, seen.now);
        Ok(())
    }

    fn observe(&mut self) -> MaintenanceObservation {
        let (last, leads, view, nodes) = self.runner.handle.views().look(|view| {
            let nodes = view.engine.counts().nodes as u64;
            (view.engine.now(), view.leads(), view.position.0, nodes)
        });
        MaintenanceObservation { now: self.now(last), leads, view, nodes }
    }

    /// Journal time. The view knows only the time of the last event, and time passes while nothing happens.
    fn now(&mut self, last: Time) -> Time {
        if self.clock.now() < last {
            self.clock = JournalClock::starting_at(last);
        }
        self.clock.now()
    }

    /// Workers may have registered before the events that are left in the journal.
    fn know_workers(&self) {
        self.runner.handle.views().look(|view| {
            for worker in view.engine.workers() {
                self.runner.histories.note_worker_name(worker.id, &worker.name);
            }
        });
    }

    fn apply_batch(&mut self, (behind, news): FollowerBatch) {
        match news {
            FollowedEvents::Behind(_) => self.is_behind = true,
            FollowedEvents::Events(batches) => {
                for batch in &*batches {
                    self.learn(batch, behind);
                }
            }
        }
    }

    fn learn(&mut self, batch: &PublishedEvents, behind: Position) {
        for (position, (at, event)) in batch.numbered().filter(|(at, _)| *at > behind) {
            self.machine.learn(position.0, *at, event);
        }
        self.runner.histories.learn(batch, behind);
        self.forget_settled_runs();
    }

    fn forget_settled_runs(&mut self) {
        self.runner.histories.forget_settled(&self.machine.take_settled());
    }

    fn forget(&mut self, pruned: Position) {
        self.machine.forget(pruned.0);
        self.runner.histories.forget(pruned);
    }

    /// Waits for nothing.
    async fn learn_what_has_come(&mut self, follower: &mut EventFollower) {
        for _ in 0..LEARNT_AT_ONCE {
            if self.is_behind {
                return;
            }
            let mut next = pin!(next(follower));
            let come = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
            let Poll::Ready(news) = come else { return };
            self.apply_batch(news);
        }
    }

    /// Reads from the journal what the view no longer has.
    async fn read_up_to_now(&mut self, follower: &mut EventFollower) -> Result<(), StoreError> {
        loop {
            let behind = follower.position();
            match self.runner.journal.tail(behind, PAGE).await {
                Err(StoreError::Pruned { upto }) => {
                    self.forget(upto);
                    follower.skip_to(upto);
                }
                page => {
                    let page = page?;
                    let Some(last) = page.last().map(|batch| batch.position) else { return Ok(()) };
                    for batch in page {
                        self.learn(&published(batch), behind);
                    }
                    follower.skip_to(last);
                }
            }
        }
    }

    /// Forgets what the leader has pruned: it has archived these runs.
    async fn forget_pruned(&mut self) -> Result<(), StoreError> {
        if let Err(StoreError::Pruned { upto }) = self.runner.journal.tail(Position(0), 1).await {
            self.forget(upto);
        }
        Ok(())
    }
}

/// A store that does not answer is asked again at the next tick.
fn retried(ticked: Result<(), StoreError>) -> Result<(), StoreError> {
    ticked.or_else(|error| if error.is_retryable() { Ok(()) } else { Err(error) })
}

/// The next effect that ends. An effect that panics is a defect: the panic goes on here.
async fn next_finished(in_flight: &mut JoinSet<FinishedEffect>) -> FinishedEffect {
    match in_flight.join_next().await {
        Some(Ok(finished)) => finished,
        Some(Err(error)) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Effects are aborted only together with this driver.
            Err(_) => pending().await,
        },
        None => pending().await,
    }
}

/// What comes next, and where the follower stood before.
type FollowerBatch = (Position, FollowedEvents);

async fn next(follower: &mut EventFollower) -> FollowerBatch {
    let behind = follower.position();
    (behind, follower.next().await)
}

fn published(batch: StoredBatch) -> PublishedEvents {
    let events = batch.events.into_iter().map(|recorded| (recorded.at, recorded.event)).collect();
    PublishedEvents::new(batch.position, events)
}
