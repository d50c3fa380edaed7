//! The worker of a local run: its guard, its folder, and its start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::requirement::WorkerScope;
use windlass_net::files::{durable_folder, private_files};
use windlass_worker::executors::{ExecutorSettings, MaskCache, clear, process_environment};
use windlass_worker::guard::GuardHandle;
use windlass_worker::{GuardLock, GuardLockIdentity, PeerWorkers, WorkerIncarnations};

use super::options::LocalRunOptions;
use crate::cli::ci_instances::{InstanceMailboxServer, LeaderInstanceOptions};
use crate::cli::embedded_worker::EmbeddedWorkerSetup;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::embedded::{EchoLogStore, EmbeddedNode};

/// A guard that is starting, and the identity of its lock.
pub(super) struct PendingGuard {
    guard: JoinHandle<io::Result<GuardHandle>>,
    place: GuardLockIdentity,
}

impl PendingGuard {
    /// Starts a guard, unless the guard of an earlier windlass is still there, or that windlass itself.
    pub(super) fn early(store: Option<&Path>) -> Option<Self> {
        let Some(folder) = store else {
            return Some(Self {
                guard: tokio::spawn(GuardHandle::start()),
                place: GuardLockIdentity::default(),
            });
        };
        // The store reports problems of the folder.
        durable_folder::create_durably(folder).ok()?;
        let (lock, place) = GuardLock::try_take(folder).ok()??;
        Some(Self { guard: tokio::spawn(GuardHandle::start_holding(lock)), place })
    }

    /// Starts a guard once this process leads the store: it waits for the guard of an earlier windlass.
    async fn late(folder: &Path) -> Result<Self, CliError> {
        let (lock, place) = GuardLock::take(folder).await.map_err(|error| not_started(&error))?;
        Ok(Self { guard: tokio::spawn(GuardHandle::start_holding(lock)), place })
    }
}

/// Starts the worker of this process, with the guard that was started early or with a new one.
pub(super) async fn start_worker(
    order: &LocalRunOptions,
    (node, mailbox_server): (&mut EmbeddedNode, Option<&InstanceMailboxServer>),
    logs: &Arc<EchoLogStore>,
    guard: Option<PendingGuard>,
) -> Result<(), CliError> {
    let PendingGuard { guard, place } = match (guard, &order.store) {
        (None, Some(folder)) => PendingGuard::late(folder).await?,
        (guard, _) => guard.expect("a run in memory starts its guard early"),
    };
    let guard = started(guard).await?;
    if let Some(mailbox_server) = mailbox_server {
        mailbox_server.bind_steps(guard.clone()).await;
    }
    let shared = order.leading.is_some();
    let setup = EmbeddedWorkerSetup {
        slots: order.slots,
        labels: order.labels.clone(),
        scope: WorkerScope::AllRuns,
        settings: step_settings(order)?,
        guard,
        orphan_guard: worker_lives(order, place)?,
        logs: Arc::clone(logs) as _,
        link: Arc::new(node.handle().clone()),
        peers: if shared { PeerWorkers::Possible } else { PeerWorkers::Never },
        ends_calls: shared,
        traces: order.traces(),
    };
    Ok(node.start_worker(setup.assemble(&order.compiled)?).await?)
}

async fn started(guard: JoinHandle<io::Result<GuardHandle>>) -> Result<GuardHandle, CliError> {
    let started = guard.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
    started.map_err(|error| not_started(&error))
}

fn not_started(error: &io::Error) -> CliError {
    CliError::unreachable(format!("the guard process cannot start: {error}"))
}

/// The starts of the worker in a store, each with a higher number than the last.
fn worker_lives(
    order: &LocalRunOptions,
    guard: GuardLockIdentity,
) -> Result<Option<(Arc<WorkerIncarnations>, GuardLockIdentity)>, CliError> {
    let Some(folder) = &order.store else { return Ok(None) };
    Ok(Some((Arc::new(WorkerIncarnations::open(&folder.join("lives"))?), guard)))
}

fn step_settings(order: &LocalRunOptions) -> Result<ExecutorSettings, CliError> {
    let worker = match order.leading {
        Some(_) => LeaderInstanceOptions::WORKER.to_owned(),
        None => environment::host_name(),
    };
    Ok(ExecutorSettings {
        root: order.root.clone(),
        scratch: scratch(order)?,
        worker,
        environment: process_environment(),
        policy: EnvironmentPolicy::PassAll,
        masks: MaskCache::default(),
    })
}

/// A folder for files through which steps report to windlass, emptied of those that a killed process left.
fn scratch(order: &LocalRunOptions) -> Result<PathBuf, CliError> {
    let scratch = order.scratch();
    durable_folder::create_durably(&scratch).map_err(|error| {
        CliError::unreachable(format!("{} cannot be created: {error}", scratch.display()))
    })?;
    // The folder for temporary files is shared: another user may have created this one.
    if order.store.is_none() && !private_files::is_owned_by_user(&scratch) {
        let what = format!("{} belongs to another user", scratch.display());
        return Err(
            CliError::unreachable(what).hint("remove it, or set TMPDIR to a folder of this user")
        );
    }
    clear(&scratch);
    scratch.canonicalize().map_err(|error| {
        CliError::unreachable(format!("{} is not accessible: {error}", scratch.display()))
    })
}
