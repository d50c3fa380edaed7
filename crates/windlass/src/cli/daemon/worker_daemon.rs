//! `windlass worker`: joins a cluster and works for it.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::id::Incarnation;
use windlass_core::requirement::Labels;
use windlass_core::session::{RegisterRequest, WorkerLocality};
use windlass_link::LinkError;
use windlass_link::mailbox::MailboxWorkerLink;
use windlass_link::output::{OutputShipper, SpooledLogs};
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};
use windlass_worker::executors::TracePropagation;
use windlass_worker::guard::GuardHandle;
use windlass_worker::values::ValueStore;
use windlass_worker::{
    ClusterMembership, GuardLockIdentity, PeerWorkers, ProcessClock, StateDirectory,
    StateDirectoryError, WorkerError, WorkerRuntime, WorkerShutdown,
};

use super::guard_setup::{guard_with_tethers, place};
use super::join::{JoinRoute, JoinTarget};
use super::serve::no_signals;
use super::shutdown_signals::ShutdownSignals as Signals;
use super::unsent_output::UnsentWorkerOutput;
use super::worker_logging::{LoggingExecutor, LoggingLink, RoomWaitLogger, log_state_faults};
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::extensions::{ProgramExtensions, StepExecutorSetup};
use crate::cli::output::{LogLevel, Logger};
use crate::embedded::system_now;

/// Leases beyond the slots: several times the number of trivial steps that end before a reply arrives. Each takes
/// memory of the worker while a reply is read.
pub(super) const LEASES_AHEAD: u32 = 256;

/// How long an idle worker takes to end: guard, output and goodbye together.
pub(super) const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// The same after the order to end immediately.
const KILLED_WITHIN: Duration = Duration::from_secs(1);

/// The pause between two tries to reach a controller.
const PAUSE: Duration = Duration::from_millis(500);

/// Options of a worker.
#[derive(Debug)]
pub(crate) struct WorkerDaemonOptions {
    /// Where to look for the leader.
    pub(crate) join: JoinTarget,
    /// Its name.
    pub(crate) name: String,
    /// Concurrent steps.
    pub(crate) slots: u32,
    /// Advertised labels.
    pub(crate) labels: Labels,
    /// The state directory.
    pub(crate) state: PathBuf,
    /// The folder in which its steps run.
    pub(crate) root: PathBuf,
    /// How long it waits for the first answer of a leader; forever without.
    pub(crate) patience: Option<Duration>,
    /// How long it continues without its leader; forever without.
    pub(crate) leader_grace: Option<Duration>,
    /// How long a step waits for space for its output before it fails.
    pub(crate) disk_grace: Duration,
    /// The environment policy of its steps.
    pub(crate) policy: EnvironmentPolicy,
    /// The functions, hooks and probes compiled into this program.
    pub(crate) compiled: ProgramExtensions,
    /// The logger.
    pub(crate) log: Logger,
}

/// Works until it is stopped: the first signal lets its steps finish, the second kills them.
pub(crate) fn work(order: &WorkerDaemonOptions) -> Result<u8, CliError> {
    let runtime = crate::cli::run_source::runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|error| no_signals(&error))?;
        let joined = tokio::select! {
            joined = WorkerDaemon::new(order) => joined.map_err(|why| why.of_cluster(order))?,
            () = signals.next() => return Ok(exit::SUCCESS),
        };
        let unsent = joined.unsent();
        let ended = work_joined(order, joined, &mut signals).await;
        unsent.append_to_last_line(ended, order.log)
    });
    // Dropping it would wait for threads that may be blocked, such as one that waits for a hanging guard.
    runtime.shutdown_background();
    ended
}

async fn work_joined(
    order: &WorkerDaemonOptions,
    joined: WorkerDaemon,
    signals: &mut Signals,
) -> Result<u8, CliError> {
    let (drain, first) = ShutdownSender::new();
    let (kill, second) = ShutdownSender::new();
    let worker = joined.work(WorkerShutdown { drain: first, kill: Some(second) });
    tokio::pin!(worker);
    tokio::select! {
        done = &mut worker => return exit_result(done),
        () = signals.next() => drain.shut_down(),
    }
    let what = "stopping: steps that run here finish first; a second signal kills them and returns them to the leader";
    order.log.log_message(LogLevel::Info, what);
    tokio::select! {
        done = &mut worker => return exit_result(done),
        () = signals.next() => kill.shut_down(),
    }
    tokio::select! {
        done = &mut worker => exit_result(done),
        // The guard ends the remaining steps when this process is gone.
        () = signals.next() => Ok(exit::INTERRUPTED),
    }
}

fn exit_result(done: Result<(), WorkerError>) -> Result<u8, CliError> {
    match done {
        // All work is done.
        Ok(()) | Err(WorkerError::Finished(_)) => Ok(exit::SUCCESS),
        Err(error) => Err(CliError::unreachable(error.to_string())),
    }
}

/// Why a worker could not join its leader.
#[derive(Debug)]
pub(crate) enum WorkerJoinFailure {
    /// All work is done.
    Over(String),
    /// No controller has answered for this long.
    NoLeader(Duration),
    /// The refusal is final.
    Refused(LinkError),
    /// The state directory cannot be used.
    State(StateDirectoryError),
    /// Another part failed to start.
    Failed(CliError),
}

impl WorkerJoinFailure {
    /// The error of a cluster's worker, with the addresses that it tried.
    fn of_cluster(self, order: &WorkerDaemonOptions) -> CliError {
        match self {
            Self::Over(epitaph) => CliError::usage(LinkError::Finished(epitaph).to_string()),
            Self::Refused(error) => CliError::usage(error.to_string()),
            Self::NoLeader(waited) => {
                let at = order.join.open(None).map(|way| way.place()).unwrap_or_default();
                let what = format!("no controller responded at {at} for {} s", waited.as_secs());
                CliError::unreachable(what).hint("is `windlass serve` running there?")
            }
            Self::State(error) => error.into(),
            Self::Failed(error) => error,
        }
    }
}

impl From<CliError> for WorkerJoinFailure {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

impl From<StateDirectoryError> for WorkerJoinFailure {
    fn from(error: StateDirectoryError) -> Self {
        Self::State(error)
    }
}

/// A worker that knows its cluster.
pub(crate) struct WorkerDaemon {
    worker: WorkerRuntime,
    logs: SpooledLogs,
    shipping: OutputShipper,
    guard: GuardHandle,
    way: JoinRoute,
    membership: Arc<ClusterMembership>,
    /// Held while the worker lives: no other may use the directory.
    _state: StateDirectory,
}

impl WorkerDaemon {
    /// Looks for its leader.
    pub(crate) async fn new(order: &WorkerDaemonOptions) -> Result<Self, WorkerJoinFailure> {
        let state = StateDirectory::open(&order.state)?;
        let (guard, guard_place) = guard_with_tethers(&state).await?;
        // The worker's identity is sent only to its own cluster.
        let cluster = find_within(order, &order.join.open(None)?).await?;
        let membership = Arc::new(state.join_cluster(&cluster)?);
        let way = order.join.open(Some(membership.secret().clone()))?;
        way.discover().await;
        let (name, at) = (&order.name, way.place());
        order
            .log
            .log_message(LogLevel::Info, format!("worker {name} joins cluster {cluster} at {at}"));
        let (logs, shipping) =
            SpooledLogs::open(membership.logs(), way.ships()).map_err(|error| {
                CliError::unreachable(format!("the folder for output cannot be opened: {error}"))
            })?;
        let listener = Arc::new(RoomWaitLogger { worker: name.clone(), log: order.log });
        let logs = logs.with_disk_grace(order.disk_grace).with_listener(listener);
        tokio::spawn(log_state_faults(membership.fault(), order.log));
        let place = place(&state, &order.root, (name, &order.policy));
        let register = register(order, &membership, guard_place)?;
        let executor = order.compiled.executor(StepExecutorSetup {
            place,
            guard: guard.clone(),
            death_notice: Some(order.join.death_notice(membership.secret(), register.incarnation)),
            ends_calls: true,
            logs: Arc::new(logs.clone()),
            depot: Arc::new(ValueStore::new(way.ships())),
            link: way.link(),
            traces: TracePropagation::Own(None),
        })?;
        let worker = WorkerRuntime {
            executor: Arc::new(LoggingExecutor::new(executor, name, order.log)),
            register,
            capacity: order.slots + LEASES_AHEAD,
            leases_expire: true,
            peers: PeerWorkers::Possible,
            clock: ProcessClock::since_boot(),
            leader_grace: order.leader_grace,
            membership: Some(Arc::clone(&membership)),
            link: Arc::new(LoggingLink::new(way.link(), name, order.log)),
        };
        Ok(Self { worker, logs, shipping, guard, way, membership, _state: state })
    }

    /// Its mailbox link, if it uses one.
    pub(crate) fn mailbox_link(&self) -> Option<MailboxWorkerLink> {
        self.way.mailbox_link()
    }

    /// Its unsent output, readable until the process ends.
    pub(crate) fn unsent(&self) -> UnsentWorkerOutput {
        UnsentWorkerOutput { logs: self.logs.clone(), membership: Arc::clone(&self.membership) }
    }

    /// Works until it is stopped, or cannot continue. It then takes [`ENDS_WITHIN`] at most, less if it must end
    /// immediately or has no leader.
    pub(crate) async fn work(self, ends: WorkerShutdown) -> Result<(), WorkerError> {
        let mut kill = ends.kill.clone();
        let (shutdown, ships) = ShutdownSender::new();
        let shipping = tokio::spawn(self.shipping.run(ships));
        let done = self.worker.run(ends).await;
        let is_killed = kill.as_ref().is_some_and(ShutdownReceiver::is_due);
        let within = if is_killed { KILLED_WITHIN } else { ENDS_WITHIN };
        let ending = async {
            shutdown.shut_down();
            let ships = async {
                // If no leader answered for the grace period, none takes output either.
                if done.is_ok() {
                    drop(shipping.await);
                }
            };
            // No step runs, and every outcome is reported or kept: the guard has nothing to report.
            tokio::join!(self.guard.end(), ships);
            // Outcomes without a verdict are reported by its next start: until then, or for a TTL, it counts as
            // online.
            if done.is_ok() && self.membership.outcomes().is_empty() {
                let (worker, life) = (self.membership.secret(), self.membership.incarnation());
                self.way.deregister(worker, life).await;
            }
        };
        tokio::select! {
            _ = timeout(within, ending) => {}
            () = wait_for_order(&mut kill), if !is_killed => {}
        }
        done
    }
}

fn register(
    order: &WorkerDaemonOptions,
    membership: &ClusterMembership,
    guard: GuardLockIdentity,
) -> Result<RegisterRequest, CliError> {
    let lives = membership.lives();
    let (incarnation, former) = lives.begin(Incarnation::default(), guard, system_now())?;
    Ok(RegisterRequest {
        worker: membership.worker_id(),
        name: order.name.as_str().into(),
        incarnation,
        labels: order.labels.clone(),
        slots: order.slots,
        home: WorkerLocality::Apart,
        former,
        spooled: Vec::new(),
    })
}

/// Fetches the cluster id within the worker's waiting time.
async fn find_within(
    order: &WorkerDaemonOptions,
    way: &JoinRoute,
) -> Result<String, WorkerJoinFailure> {
    let Some(patience) = order.patience else { return find(way, order.log).await };
    let found = timeout(patience, find(way, order.log)).await;
    found.unwrap_or(Err(WorkerJoinFailure::NoLeader(patience)))
}

/// Fetches the cluster id, retrying until an answer arrives.
async fn find(way: &JoinRoute, log: Logger) -> Result<String, WorkerJoinFailure> {
    let mut told = false;
    loop {
        match way.cluster().await {
            Ok(cluster) => return Ok(cluster),
            Err(LinkError::Finished(epitaph)) => return Err(WorkerJoinFailure::Over(epitaph)),
            Err(error) if error.is_final() => return Err(WorkerJoinFailure::Refused(error)),
            Err(error) if !told => {
                log.log_message(LogLevel::Warn, format!("{error}; trying again"));
            }
            Err(_) => {}
        }
        told = true;
        sleep(PAUSE).await;
    }
}

/// Waits for an order that may never come.
async fn wait_for_order(order: &mut Option<ShutdownReceiver>) {
    match order {
        Some(order) => order.wait().await,
        None => pending().await,
    }
}
