//! The one place that assembles a worker in its leader's process: that of `windlass run`, and of a controller whose store
//! no other controller can lead.

use std::sync::Arc;

use windlass_core::requirement::{Labels, WorkerScope};
use windlass_link::WorkerLink;
use windlass_link::output::LocalOutputLink;
use windlass_store::logs::LogStore;
use windlass_worker::executors::{ExecutorSettings, TracePropagation};
use windlass_worker::guard::GuardHandle;
use windlass_worker::values::ValueStore;
use windlass_worker::{GuardLockIdentity, PeerWorkers, WorkerIncarnations};

use super::error::CliError;
use super::extensions::{ProgramExtensions, StepExecutorSetup};
use crate::embedded::{LocalWorkerOptions, LocalWorkerPlace};

/// A worker before it is assembled.
pub(crate) struct EmbeddedWorkerSetup {
    /// The place of the worker among those of its host.
    pub(crate) place: LocalWorkerPlace,
    /// Concurrent steps.
    pub(crate) slots: u32,
    /// Advertised labels.
    pub(crate) labels: Labels,
    /// The runs whose steps it serves.
    pub(crate) scope: WorkerScope,
    /// The settings of its steps; they contain the worker's name.
    pub(crate) settings: ExecutorSettings,
    /// The guard that starts commands.
    pub(crate) guard: GuardHandle,
    /// The starts of this worker, and the lock of its guard; `None` if nothing outlives this process.
    pub(crate) orphan_guard: Option<(Arc<WorkerIncarnations>, GuardLockIdentity)>,
    /// The store of step output.
    pub(crate) logs: Arc<dyn LogStore>,
    /// The link to the leader.
    pub(crate) link: Arc<dyn WorkerLink>,
    /// Whether other workers can serve the same leader.
    pub(crate) peers: PeerWorkers,
    /// Whether the guard ends this process when a function outlives its grant.
    pub(crate) ends_calls: bool,
    /// The trace context that commands inherit.
    pub(crate) traces: TracePropagation,
}

impl EmbeddedWorkerSetup {
    /// Assembles a worker of this program.
    pub(crate) fn assemble(
        self,
        program: &ProgramExtensions,
    ) -> Result<LocalWorkerOptions, CliError> {
        let name = self.settings.worker.clone();
        let executor = program.executor(StepExecutorSetup {
            settings: self.settings,
            guard: self.guard,
            // The leader sees by the lock of the guard that nothing is left.
            death_notice: None,
            ends_calls: self.ends_calls,
            value_store: Arc::new(ValueStore::new(Arc::new(LocalOutputLink(Arc::clone(
                &self.logs,
            ))))),
            logs: self.logs,
            link: self.link,
            traces: self.traces,
        })?;
        Ok(LocalWorkerOptions {
            place: self.place,
            name,
            slots: self.slots,
            labels: self.labels,
            scope: self.scope,
            beside: self.peers,
            executor,
            orphan_guard: self.orphan_guard,
        })
    }
}
