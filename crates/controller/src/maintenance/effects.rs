//! Carries out one effect of maintenance in the stores.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use windlass_core::engine::{EngineCall, RequestDenial};
use windlass_core::id::RunId;
use windlass_core::maintenance::{MaintenanceEffect, MaintenanceOutcome, RetentionSettings};
use windlass_core::time::Time;
use windlass_store::archive::Archive;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, Position};
use windlass_store::logs::LogStore;

use crate::handle::NodeHandle;
use crate::run_histories::RunHistories;

/// Archived events in one read.
const HISTORY_PAGE: usize = 16_384;

/// The stores and handles that effects need.
#[derive(Clone, Debug)]
pub(super) struct MaintenanceEffectRunner {
    pub(super) handle: NodeHandle,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) logs: Arc<dyn LogStore>,
    pub(super) histories: Arc<RunHistories>,
    pub(super) keeping: RetentionSettings,
    /// The clock of this machine, if journal time is compared with it, and whether the store has a clock of its own.
    pub(super) system: Option<(fn() -> Time, bool)>,
}

impl MaintenanceEffectRunner {
    /// Carries out an effect. An error that does not pass is returned; any other error is a failure, and the effect is
    /// repeated.
    pub(super) async fn run(
        self,
        effect: MaintenanceEffect,
        now: Time,
    ) -> Result<MaintenanceOutcome, StoreError> {
        let position = match effect {
            MaintenanceEffect::WriteArchive(run) => self.write_archive(run).await,
            MaintenanceEffect::Seal(run) => Ok(self.seal(run).await),
            MaintenanceEffect::FindSnapshot => self.find_snapshot().await,
            MaintenanceEffect::SaveSnapshot => self.save_snapshot().await,
            MaintenanceEffect::PruneBefore(upto) => {
                self.journal.prune(Position(upto)).await.map(Some)
            }
            MaintenanceEffect::DeleteExpired => self.delete_expired(now).await.map(Some),
        };
        match position {
            Ok(Some(position)) => Ok(MaintenanceOutcome::Done(position.0)),
            Ok(None) => Ok(MaintenanceOutcome::Failed),
            Err(error) if error.is_retryable() => Ok(MaintenanceOutcome::Failed),
            Err(error) => Err(error),
        }
    }

    /// Reads the archived events of a run that was resumed.
    pub(super) async fn complete_history(&self, run: RunId) -> Result<(), StoreError> {
        let record = self.archive.run(run).await?;
        let (mut events, mut after) = (Vec::new(), Position(0));
        loop {
            let page = self.archive.events(run, after, HISTORY_PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.position;
            events.extend(page);
        }
        self.histories.complete(run, record, &events);
        Ok(())
    }

    async fn write_archive(&self, run: RunId) -> Result<Option<Position>, StoreError> {
        let Some(sealed) = self.histories.sealed(run) else { return Ok(None) };
        let last = sealed.events.last();
        let kept = self.archive.keep(sealed).await;
        self.histories.note_archived(run, &kept);
        kept?;
        Ok(last)
    }

    /// A run that is unknown to the leader has been sealed.
    async fn seal(&self, run: RunId) -> Option<Position> {
        match self.handle.call(EngineCall::seal(run)).await {
            Ok(Ok(()) | Err(RequestDenial::NoSuchRun(_))) => Some(Position(0)),
            Ok(Err(_)) | Err(_) => None,
        }
    }

    async fn find_snapshot(&self) -> Result<Option<Position>, StoreError> {
        let found = self.journal.snapshot().await?;
        Ok(Some(found.map_or(Position(0), |snapshot| snapshot.position)))
    }

    async fn save_snapshot(&self) -> Result<Option<Position>, StoreError> {
        let views = Arc::clone(self.handle.views());
        let snapshot = spawn_blocking(move || views.snapshot());
        let Ok(Some(snapshot)) = snapshot.await else { return Ok(None) };
        let position = snapshot.position;
        self.journal.save(snapshot).await?;
        Ok(Some(position))
    }

    async fn delete_expired(&self, now: Time) -> Result<Position, StoreError> {
        let now = self.handle.views().with(|view| match self.system {
            Some((clock, own)) => view.engine.deletion_cutoff(now, clock(), own),
            None => view.engine.trusted_time(now),
        });
        let (runs, keys) = (now - self.keeping.runs, now - self.keeping.keys);
        for run in self.archive.prune(runs, keys).await? {
            self.logs.remove(run).await?;
        }
        Ok(Position(0))
    }
}
