//! The worker of a local run: its slot, its guard, its folder, and its start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::id::Incarnation;
use windlass_core::requirement::WorkerScope;
use windlass_net::files::{durable_folder, private_files};
use windlass_worker::PeerWorkers;
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::executors::{ExecutorSettings, MaskCache, clear, process_environment};
use windlass_worker::guard::GuardHandle;

use super::options::LocalRunOptions;
use crate::cli::ci_instances::{InstanceMailboxServer, LeaderInstanceOptions};
use crate::cli::embedded_worker::EmbeddedWorkerSetup;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::embedded::{EchoLogStore, EmbeddedNode, LocalWorkerPlace, WorkerSlot};

/// The place of this process's worker, and its guard, which is starting.
pub(super) struct WorkerPlace {
    /// The slot in the folder of the stores; `None` for a run in memory.
    slot: Option<WorkerSlot>,
    guard: JoinHandle<io::Result<GuardHandle>>,
    /// The folder of files through which steps report to windlass.
    pub(super) scratch: PathBuf,
}

impl WorkerPlace {
    /// Takes a slot in the folder, and starts a guard.
    pub(super) fn claim(store: Option<&Path>) -> io::Result<Self> {
        let Some(folder) = store else {
            let scratch = std::env::temp_dir().join(format!("windlass-{}", std::process::id()));
            return Ok(Self { slot: None, guard: tokio::spawn(GuardHandle::start()), scratch });
        };
        let (slot, lock) = WorkerSlot::claim(folder)?;
        let scratch = slot.scratch();
        Ok(Self {
            slot: Some(slot),
            guard: tokio::spawn(GuardHandle::start_holding(lock)),
            scratch,
        })
    }

    /// The place of the worker among those of its host.
    pub(super) fn worker_place(&self) -> LocalWorkerPlace {
        let slot = self.slot.as_ref().map(|slot| LocalWorkerPlace::Slot(slot.worker()));
        slot.unwrap_or(LocalWorkerPlace::Exclusive)
    }

    /// The name of the worker.
    pub(super) fn worker_name(&self, order: &LocalRunOptions) -> String {
        if order.leading.is_some() {
            return LeaderInstanceOptions::WORKER.to_owned();
        }
        let host = environment::host_name();
        self.slot.as_ref().map_or_else(|| host.clone(), |slot| slot.worker_name(&host))
    }
}

/// Starts the worker of this process, with the guard that was started early. Returns its incarnation.
pub(super) async fn start_worker(
    order: &LocalRunOptions,
    (node, mailbox_server): (&mut EmbeddedNode, Option<&InstanceMailboxServer>),
    logs: &Arc<EchoLogStore>,
    place: &mut WorkerPlace,
) -> Result<Incarnation, CliError> {
    let guard = started(&mut place.guard).await?;
    if let Some(mailbox_server) = mailbox_server {
        mailbox_server.bind_steps(guard.clone()).await;
    }
    let shared = order.leading.is_some();
    let setup = EmbeddedWorkerSetup {
        place: place.worker_place(),
        slots: order.slots,
        labels: order.labels.clone(),
        scope: scope(order),
        settings: step_settings(order, place, node.objects())?,
        guard,
        orphan_guard: place.slot.as_ref().map(WorkerSlot::incarnations).transpose()?,
        logs: Arc::clone(logs) as _,
        link: Arc::new(node.handle().clone()),
        peers: if shared { PeerWorkers::Possible } else { PeerWorkers::Never },
        ends_calls: shared,
        traces: order.traces(),
    };
    Ok(node.start_worker(setup.assemble(&order.compiled)?).await?)
}

/// Instances share the steps of a run. Processes at one folder run their own.
const fn scope(order: &LocalRunOptions) -> WorkerScope {
    match (&order.leading, &order.store) {
        (None, Some(_)) => WorkerScope::OwnRuns,
        (Some(_), _) | (None, None) => WorkerScope::AllRuns,
    }
}

async fn started(guard: &mut JoinHandle<io::Result<GuardHandle>>) -> Result<GuardHandle, CliError> {
    let started = guard.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
    started
        .map_err(|error| CliError::unreachable(format!("the guard process cannot start: {error}")))
}

fn step_settings(
    order: &LocalRunOptions,
    place: &WorkerPlace,
    objects: ObjectAccess,
) -> Result<ExecutorSettings, CliError> {
    Ok(ExecutorSettings {
        root: order.root.clone(),
        scratch: scratch(order, &place.scratch)?,
        worker: place.worker_name(order),
        environment: process_environment(),
        policy: EnvironmentPolicy::PassAll,
        objects,
        masks: MaskCache::default(),
    })
}

/// A folder for files through which steps report to windlass, emptied of those that a killed process left.
fn scratch(order: &LocalRunOptions, scratch: &Path) -> Result<PathBuf, CliError> {
    durable_folder::create_durably(scratch).map_err(|error| {
        CliError::unreachable(format!("{} cannot be created: {error}", scratch.display()))
    })?;
    // The folder for temporary files is shared: another user may have created this one.
    if order.store.is_none() && !private_files::is_owned_by_user(scratch) {
        let what = format!("{} belongs to another user", scratch.display());
        return Err(
            CliError::unreachable(what).hint("remove it, or set TMPDIR to a folder of this user")
        );
    }
    clear(scratch);
    scratch.canonicalize().map_err(|error| {
        CliError::unreachable(format!("{} is not accessible: {error}", scratch.display()))
    })
}
