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
use crate::link::LinkError;
use crate::link::mailbox::MailboxWorkerLink;
use crate::link::output::{OutputShipper, SpooledLogs};
use crate::shutdown::{ShutdownReceiver, ShutdownSender};
use crate::worker::executors::TracePropagation;
use crate::worker::guard::GuardHandle;
use crate::worker::values::ValueStore;
use crate::worker::{
    ClusterMembership, GuardLockIdentity, PeerWorkers, ProcessClock, StateDirectory,
    StateDirectoryError, WorkerError, WorkerRuntime, WorkerShutdown,
};

/// Leases beyond the slots: several times what is over before a reply comes, for steps that do next to nothing. Each is
/// memory of the worker while a reply is read.
pub(super) const LEASES_AHEAD: u32 = 256;

/// How long a worker that has nothing to run any more takes to end: guard, output and goodbye together.
pub(super) const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// The same for one that is told to end at once.
const KILLED_WITHIN: Duration = Duration::from_secs(1);

/// The pause between two tries to reach a controller.
const PAUSE: Duration = Duration::from_millis(500);

/// A worker to be.
#[derive(Debug)]
pub(crate) struct WorkerDaemonOptions {
    /// Where its leader may be.
    pub(crate) join: JoinTarget,
    /// Its name.
    pub(crate) name: String,
    /// Steps at a time.
    pub(crate) slots: u32,
    /// What it advertises.
    pub(crate) labels: Labels,
    /// What it keeps between its lives.
    pub(crate) state: PathBuf,
    /// Where its steps run.
    pub(crate) root: PathBuf,
    /// How long it waits for a leader to answer the first time; for ever without.
    pub(crate) patience: Option<Duration>,
    /// How long it goes on without its leader; for ever without.
    pub(crate) leader_grace: Option<Duration>,
    /// How long a step waits for room for its output before it fails.
    pub(crate) disk_grace: Duration,
    /// What steps inherit of its environment.
    pub(crate) policy: EnvironmentPolicy,
    /// What this program has beside windlass itself.
    pub(crate) compiled: ProgramExtensions,
    /// What says what goes on.
    pub(crate) log: Logger,
}

/// Works until it is told to end: the first time it finishes what it has, the second time it kills it.
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
    // Dropped, it would wait for threads that may be blocked, such as one that waits for a guard that hangs.
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
    let what = "ending: steps that run here are finished first; once more gives them back now";
    order.log.log_message(LogLevel::Info, what);
    tokio::select! {
        done = &mut worker => return exit_result(done),
        () = signals.next() => kill.shut_down(),
    }
    tokio::select! {
        done = &mut worker => exit_result(done),
        // The guard ends what is left when this process is gone.
        () = signals.next() => Ok(exit::INTERRUPTED),
    }
}

fn exit_result(done: Result<(), WorkerError>) -> Result<u8, CliError> {
    match done {
        // All that there was to do is done.
        Ok(()) | Err(WorkerError::Finished(_)) => Ok(exit::SUCCESS),
        Err(error) => Err(CliError::unreachable(error.to_string())),
    }
}

/// Why a worker found no leader to work for.
#[derive(Debug)]
pub(crate) enum WorkerJoinFailure {
    /// Everything that there was to do is done.
    Over(String),
    /// Nobody has answered for so long.
    NoLeader(Duration),
    /// Nothing will come of asking again.
    Refused(LinkError),
    /// It cannot remember anything.
    State(StateDirectoryError),
    /// Something else is missing here.
    Failed(CliError),
}

impl WorkerJoinFailure {
    /// As it is told where a controller was looked for.
    fn of_cluster(self, order: &WorkerDaemonOptions) -> CliError {
        match self {
            Self::Over(epitaph) => CliError::usage(LinkError::Finished(epitaph).to_string()),
            Self::Refused(error) => CliError::usage(error.to_string()),
            Self::NoLeader(waited) => {
                let at = order.join.open(None).map(|way| way.place()).unwrap_or_default();
                let what = format!("no controller has answered at {at} for {} s", waited.as_secs());
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

/// A worker that knows which cluster it works for.
pub(crate) struct WorkerDaemon {
    worker: WorkerRuntime,
    logs: SpooledLogs,
    shipping: OutputShipper,
    guard: GuardHandle,
    way: JoinRoute,
    membership: Arc<ClusterMembership>,
    /// Held as long as the worker lives: nobody else may live there.
    _state: StateDirectory,
}

impl WorkerDaemon {
    /// Looks for its leader.
    pub(crate) async fn new(order: &WorkerDaemonOptions) -> Result<Self, WorkerJoinFailure> {
        let state = StateDirectory::open(&order.state)?;
        let (guard, guard_place) = guard_with_tethers(&state).await?;
        // Who this worker is is told to its own cluster only.
        let cluster = find_within(order, &order.join.open(None)?).await?;
        let membership = Arc::new(state.join_cluster(&cluster)?);
        let way = order.join.open(Some(membership.secret().clone()))?;
        way.discover().await;
        let (name, at) = (&order.name, way.place());
        order
            .log
            .log_message(LogLevel::Info, format!("worker {name} joins cluster {cluster} at {at}"));
        let (logs, shipping) = SpooledLogs::open(membership.logs(), way.ships())
            .map_err(|error| CliError::unreachable(format!("no place for output: {error}")))?;
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

    /// Its way to the leader, where that is by letters.
    pub(crate) fn mailbox_link(&self) -> Option<MailboxWorkerLink> {
        self.way.mailbox_link()
    }

    /// What it has not sent, at any time until its process ends.
    pub(crate) fn unsent(&self) -> UnsentWorkerOutput {
        UnsentWorkerOutput { logs: self.logs.clone(), membership: Arc::clone(&self.membership) }
    }

    /// Works until it is told to end, or cannot go on. From then on it takes [`ENDS_WITHIN`] at most, less if it is told to
    /// end at once or no leader is there.
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
                // Where no leader has answered for the grace, none takes output either.
                if done.is_ok() {
                    drop(shipping.await);
                }
            };
            // Nothing runs any more, and what ended was told or is kept: the guard has nothing to report.
            tokio::join!(self.guard.end(), ships);
            // Outcomes without a verdict are for its next life to tell: until then, or for a TTL, it counts as alive.
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

/// Asks which cluster it is, for as long as it was to wait.
async fn find_within(
    order: &WorkerDaemonOptions,
    way: &JoinRoute,
) -> Result<String, WorkerJoinFailure> {
    let Some(patience) = order.patience else { return find(way, order.log).await };
    let found = timeout(patience, find(way, order.log)).await;
    found.unwrap_or(Err(WorkerJoinFailure::NoLeader(patience)))
}

/// Asks which cluster it is, until somebody answers.
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
