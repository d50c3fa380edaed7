//! The one place that assembles a worker whose leases expire: that of `windlass worker`, of an instance, and of a
//! controller that shares its store. Only the way to the leader differs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::id::Incarnation;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::WorkerLocality;
use windlass_link::output::{OutputLink, OutputShipper, SpooledLogs};
use windlass_link::{DeathNoticeConfig, WorkerLink};
use windlass_net::shutdown::ShutdownSender;
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::executors::TracePropagation;
use windlass_worker::guard::GuardHandle;
use windlass_worker::values::ValueStore;
use windlass_worker::{
    ClusterMembership, GuardLockIdentity, StateDirectory, WorkerRuntime, WorkerSetup,
};

use super::guard_setup::executor_settings;
use super::unsent_output::UnsentWorkerOutput;
use super::worker_logging::{RoomWaitLogger, log_state_faults};
use crate::cli::error::CliError;
use crate::cli::extensions::{ProgramExtensions, StepExecutorSetup};
use crate::embedded::system_now;

/// Leases beyond the slots: several times the number of trivial steps that end before a reply arrives. Each takes
/// memory of the worker while a reply is read.
const LEASES_AHEAD: u32 = 256;

/// How long an idle worker takes to end: guard, output and deregistration together.
pub(super) const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// What a worker keeps beyond its end, and the guard of its steps.
pub(super) struct WorkerBase {
    /// The worker's state directory.
    pub(super) state: StateDirectory,
    /// The worker's identity in its cluster.
    pub(super) membership: Arc<ClusterMembership>,
    /// The guard, and the identity of the lock that it holds.
    pub(super) guard: (GuardHandle, GuardLockIdentity),
}

/// A worker before it is assembled.
pub(super) struct ClusterWorkerSetup<'a> {
    /// The worker's name.
    pub(super) name: &'a str,
    /// Concurrent steps.
    pub(super) slots: u32,
    /// Advertised labels.
    pub(super) labels: Labels,
    /// The runs whose steps it serves.
    pub(super) scope: WorkerScope,
    /// The folder in which its steps run.
    pub(super) root: &'a Path,
    /// The environment policy of its steps.
    pub(super) policy: &'a EnvironmentPolicy,
    /// How long a step waits for space for its output before it fails.
    pub(super) disk_grace: Duration,
    /// The functions, hooks and probes compiled into this program.
    pub(super) compiled: &'a ProgramExtensions,
    /// The link for sessions.
    pub(super) link: Arc<dyn WorkerLink>,
    /// The link for output and large values.
    pub(super) output: Arc<dyn OutputLink>,
    /// The object store of its steps.
    pub(super) objects: ObjectAccess,
    /// The settings by which the guard reports the death of this start of the worker.
    pub(super) death_notice: &'a dyn Fn(&ClusterMembership, Incarnation) -> DeathNoticeConfig,
}

/// An assembled worker.
pub(super) struct ClusterWorker {
    /// The worker itself.
    pub(super) runtime: WorkerRuntime,
    /// Its output and outcomes, until they are sent.
    pub(super) unsent: UnsentWorkerOutput,
    shipper: OutputShipper,
    guard: GuardHandle,
    state: StateDirectory,
}

/// The parts of a working worker that end after its last step.
#[derive(Debug)]
pub(super) struct WorkerCompanions {
    guard: GuardHandle,
    /// The task that sends its output.
    shipping: (ShutdownSender, JoinHandle<()>),
    /// Its output and outcomes, until they are sent.
    pub(super) unsent: UnsentWorkerOutput,
    /// Held while the worker lives: no other may use the directory.
    _state: StateDirectory,
}

impl ClusterWorkerSetup<'_> {
    /// Assembles the worker: spool, executor and runtime.
    pub(super) fn assemble(self, base: WorkerBase) -> Result<ClusterWorker, CliError> {
        let WorkerBase { state, membership, guard: (guard, guard_place) } = base;
        let (logs, shipper) = self.spool(&membership)?;
        tokio::spawn(log_state_faults(membership.fault()));
        let incarnation =
            membership.incarnations().begin(Incarnation::default(), guard_place, system_now())?;
        let executor = self.compiled.executor(StepExecutorSetup {
            settings: executor_settings(&state, self.root, (self.name, self.policy), self.objects),
            guard: guard.clone(),
            death_notice: Some((self.death_notice)(&membership, incarnation.0)),
            ends_calls: true,
            logs: Arc::new(logs.clone()),
            value_store: Arc::new(ValueStore::new(self.output)),
            link: Arc::clone(&self.link),
            traces: TracePropagation::Own(None),
        })?;
        let worker = WorkerSetup {
            worker: membership.worker_id(),
            name: self.name.to_owned(),
            incarnation,
            labels: self.labels,
            slots: self.slots,
            leases_ahead: LEASES_AHEAD,
            locality: WorkerLocality::Apart,
            scope: self.scope,
            link: self.link,
            executor,
        };
        let memory = Some(Arc::clone(&membership));
        let runtime = WorkerRuntime { membership: memory, ..worker.assemble() };
        let unsent = UnsentWorkerOutput { logs, membership };
        Ok(ClusterWorker { runtime, unsent, shipper, guard, state })
    }

    /// Opens the folder for output that is not sent yet.
    fn spool(
        &self,
        membership: &ClusterMembership,
    ) -> Result<(SpooledLogs, OutputShipper), CliError> {
        let opened = SpooledLogs::open(membership.logs(), Arc::clone(&self.output));
        let (logs, shipper) = opened.map_err(|error| {
            CliError::unreachable(format!("the folder for output cannot be opened: {error}"))
        })?;
        let listener = Arc::new(RoomWaitLogger { worker: self.name.to_owned() });
        Ok((logs.with_disk_grace(self.disk_grace).with_listener(listener), shipper))
    }
}

impl ClusterWorker {
    /// Starts to send output; the runtime is to be run by the caller.
    pub(super) fn start_shipping(self) -> (WorkerRuntime, WorkerCompanions) {
        let Self { runtime, unsent, shipper, guard, state } = self;
        let (shutdown, ships) = ShutdownSender::new();
        let shipping = (shutdown, tokio::spawn(shipper.run(ships)));
        (runtime, WorkerCompanions { guard, shipping, unsent, _state: state })
    }
}

impl WorkerCompanions {
    /// Ends the guard, which has no step any more. A worker that `leaves` in order also sends its output and
    /// deregisters; until then, or for a lease duration, the leader counts it as online.
    pub(super) async fn end(self, leaves: bool, deregister: impl AsyncFnOnce(&ClusterMembership)) {
        let (shutdown, shipping) = self.shipping;
        shutdown.shut_down();
        let ships = async {
            if leaves {
                drop(shipping.await);
            }
        };
        tokio::join!(self.guard.end(), ships);
        // Outcomes without a verdict are reported by its next start.
        if leaves && self.unsent.membership.outcomes().is_empty() {
            deregister(&self.unsent.membership).await;
        }
    }
}
