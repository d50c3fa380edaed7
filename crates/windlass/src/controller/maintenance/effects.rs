//! Carries out one effect of maintenance in the stores.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use windlass_core::engine::{Answer, Denial, Request};
use windlass_core::id::RunId;
use windlass_core::maintenance::{EffectOutcome, Keeping, MaintenanceEffect};
use windlass_core::time::Time;

use crate::archive::Archive;
use crate::controller::handle::Handle;
use crate::controller::histories::Histories;
use crate::controller::view::View;
use crate::journal::{Journal, Position};
use crate::logs::LogStore;
use crate::store::StoreError;

/// Everything that effects are carried out in.
#[derive(Clone, Debug)]
pub(super) struct EffectRunner {
    pub(super) handle: Handle,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) logs: Arc<dyn LogStore>,
    pub(super) histories: Arc<Histories>,
    pub(super) keeping: Keeping,
    /// The clock of this machine, if the journal's time is compared with it, and whether the store has a clock of its own.
    pub(super) system: Option<(fn() -> Time, bool)>,
}

impl EffectRunner {
    /// Carries out an effect. An error that waiting does not mend is returned; any other is a failure, to be repeated.
    pub(super) async fn run(
        self,
        effect: MaintenanceEffect,
        now: Time,
    ) -> Result<EffectOutcome, StoreError> {
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
            Ok(Some(position)) => Ok(EffectOutcome::Done(position.0)),
            Ok(None) => Ok(EffectOutcome::Failed),
            Err(error) if error.is_retryable() => Ok(EffectOutcome::Failed),
            Err(error) => Err(error),
        }
    }

    async fn write_archive(&self, run: RunId) -> Result<Option<Position>, StoreError> {
        let Some(sealed) = self.histories.sealed(run) else { return Ok(None) };
        let last = sealed.events.last();
        let kept = self.archive.keep(sealed).await;
        self.histories.note_archived(run, &kept);
        kept?;
        Ok(last)
    }

    /// A run that the leader does not know has been sealed.
    async fn seal(&self, run: RunId) -> Option<Position> {
        match self.handle.ask(Request::Seal { run }).await {
            Ok(Answer::Done | Answer::Denied(Denial::NoSuchRun(_))) => Some(Position(0)),
            Ok(_) | Err(_) => None,
        }
    }

    async fn find_snapshot(&self) -> Result<Option<Position>, StoreError> {
        let found = self.journal.snapshot().await?;
        Ok(Some(found.map_or(Position(0), |snapshot| snapshot.position)))
    }

    async fn save_snapshot(&self) -> Result<Option<Position>, StoreError> {
        let views = Arc::clone(self.handle.views());
        let snapshot = spawn_blocking(move || views.look(View::snapshot));
        let Ok(Some(snapshot)) = snapshot.await else { return Ok(None) };
        let position = snapshot.position;
        self.journal.save(snapshot).await?;
        Ok(Some(position))
    }

    async fn delete_expired(&self, now: Time) -> Result<Position, StoreError> {
        let now = self.handle.views().look(|view| match self.system {
            Some((clock, own)) => view.engine.deletes_by(now, clock(), own),
            None => view.engine.believed_time(now),
        });
        let (runs, keys) = (now - self.keeping.runs, now - self.keeping.keys);
        for run in self.archive.prune(runs, keys).await? {
            self.logs.remove(run).await?;
        }
        Ok(Position(0))
    }
}
