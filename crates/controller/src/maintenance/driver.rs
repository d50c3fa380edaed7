//! Learns durable events, ticks the machine, and waits for the effects that it requests.

use std::future::pending;
use std::sync::Arc;
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
use windlass_store::journal::{Journal, Position};
use windlass_store::logs::LogStore;

use super::RetentionSettings;
use super::effects::MaintenanceEffectRunner;
use crate::event_follower::{EventFollower, FollowedEvents};
use crate::handle::NodeHandle;
use crate::journal_clock::JournalClock;
use crate::run_histories::RunHistories;

/// The time between two ticks of the machine.
const EVERY: Duration = Duration::from_secs(1);

/// The largest number of reads in a row. Others publish events meanwhile.
const LEARNT_AT_ONCE: usize = 64;

/// The time for which a node that shuts down continues maintenance.
const SHUTDOWN_WORK_MAX: Duration = Duration::from_secs(2);

/// An effect that ended, with its outcome.
type FinishedEffect = (MaintenanceEffect, Result<MaintenanceOutcome, StoreError>);

/// The maintenance of the node behind a handle: it carries out what [`Maintenance`] decides.
#[derive(Debug)]
pub struct MaintenanceDriver {
    machine: Maintenance,
    runner: MaintenanceEffectRunner,
    in_flight: JoinSet<FinishedEffect>,
    clock: JournalClock,
}

impl MaintenanceDriver {
    /// Returns the maintenance of the node behind the handle.
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
        }
    }

    /// Compares journal time with the clock of this machine before it deletes anything. `store_has_own` states that
    /// journal time comes from another clock.
    #[must_use]
    pub fn against(mut self, clock: fn() -> Time, store_has_own: bool) -> Self {
        self.runner.system = Some((clock, store_has_own));
        self
    }

    /// Returns the events of unsealed runs, which the driver gathers.
    pub const fn histories(&self) -> &Arc<RunHistories> {
        &self.runner.histories
    }

    /// Maintains until shutdown. An effect that fails because the store does not answer is repeated later.
    pub async fn run(mut self, mut shutdown: ShutdownReceiver) -> Result<(), StoreError> {
        let (views, journal) = (self.runner.handle.views(), &self.runner.journal);
        let mut follower = views.follow(journal, Position(0));
        self.know_workers();
        let mut due = interval(EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_recent = !follower.is_behind();
            tokio::select! {
                () = shutdown.wait() => break,
                () = follower.wait(), if is_recent => {
                    retried(self.learn_recent(&mut follower).await)?;
                }
                finished = next_finished(&mut self.in_flight) => {
                    // The events come first, so that a run that was sealed is not sealed again.
                    retried(self.learn_recent(&mut follower).await)?;
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
        self.learn_recent(follower).await?;
        while follower.is_behind() {
            let Some(events) = follower.read().await? else { break };
            self.learn(&events);
        }
        self.complete_resumed_runs().await?;
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
        while let Some(events) = follower.read().await? {
            self.learn(&events);
        }
        let Some(effects) = self.machine.seal_large() else { return Ok(()) };
        self.start(effects, seen.now);
        self.finish_all().await?;
        // Find the newest snapshot, save another one, prune.
        for _ in 0..3 {
            self.learn_recent(follower).await?;
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
        let (last, leads, view, nodes) = self.runner.handle.views().with(|view| {
            let nodes = view.engine.counts().nodes as u64;
            (view.engine.now(), view.leads(), view.position.0, nodes)
        });
        MaintenanceObservation { now: self.now(last), leads, view, nodes }
    }

    /// Returns journal time. The view knows only the time of the last event, and time passes without events.
    fn now(&mut self, last: Time) -> Time {
        if self.clock.now() < last {
            self.clock = JournalClock::starting_at(last);
        }
        self.clock.now()
    }

    /// Records the names of workers that registered before the oldest event of the journal.
    fn know_workers(&self) {
        self.runner.handle.views().with(|view| {
            for worker in view.engine.workers() {
                self.runner.histories.note_worker_name(worker.id, &worker.name);
            }
        });
    }

    fn learn(&mut self, followed: &FollowedEvents) {
        if let Some(pruned) = followed.pruned() {
            self.forget(pruned);
        }
        for recorded in followed.iter() {
            self.machine.learn(recorded.position.0, recorded.at, &recorded.event);
        }
        self.runner.histories.learn(followed.iter());
        self.forget_settled_runs();
    }

    fn forget_settled_runs(&mut self) {
        self.runner.histories.forget_settled(&self.machine.take_settled());
    }

    fn forget(&mut self, pruned: Position) {
        self.machine.forget(pruned.0);
        self.runner.histories.forget(pruned);
    }

    /// Learns the events that the view has now. A follower that is behind reads the journal at the next tick.
    async fn learn_recent(&mut self, follower: &mut EventFollower) -> Result<(), StoreError> {
        for _ in 0..LEARNT_AT_ONCE {
            if follower.is_behind() {
                return Ok(());
            }
            let Some(events) = follower.read().await? else { break };
            self.learn(&events);
        }
        self.complete_resumed_runs().await
    }

    /// Reads the events of resumed runs that only the archive has. A run that lacks them is neither archived nor sealed.
    async fn complete_resumed_runs(&self) -> Result<(), StoreError> {
        for run in self.runner.histories.lacking_runs() {
            self.runner.complete_history(run).await?;
        }
        Ok(())
    }

    /// Removes runs that the leader has pruned: it has archived them.
    async fn forget_pruned(&mut self) -> Result<(), StoreError> {
        if let Err(StoreError::Pruned { upto }) = self.runner.journal.tail(Position(0), 1).await {
            self.forget(upto);
        }
        Ok(())
    }
}

/// If the store does not answer, the next tick repeats the work.
fn retried(ticked: Result<(), StoreError>) -> Result<(), StoreError> {
    ticked.or_else(|error| if error.is_retryable() { Ok(()) } else { Err(error) })
}

/// Waits for the next effect that ends. An effect that panics is a defect, so the panic continues here.
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
