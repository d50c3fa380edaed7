//! `windlass worker`: joins a cluster and works for it.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tracing::{info, warn};
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_link::LinkError;
use windlass_link::mailbox::MailboxWorkerLink;
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::{StateDirectory, WorkerError, WorkerShutdown};

use super::cluster_worker::{ClusterWorker, ClusterWorkerSetup, ENDS_WITHIN, WorkerBase};
use super::guard_setup::guard_with_tethers;
use super::join::{JoinRoute, JoinTarget};
use super::serve::no_signals;
use super::shutdown_signals::ShutdownSignals as Signals;
use super::unsent_output::UnsentWorkerOutput;
use super::worker_join_failure::WorkerJoinFailure;
use super::worker_link_logging::LoggingLink;
use super::worker_logging::LoggingExecutor;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::extensions::ProgramExtensions;

/// Why the steps of a worker that is joined through a message broker have no files.
const NO_OBJECTS_BY_MAILBOX: &str = "files of steps do not travel through a message broker: join the worker over HTTP, `windlass worker \
                                     --join http://…`";

/// How long a worker takes to end after the order to end immediately.
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
        let ended = work_joined(joined, &mut signals).await;
        unsent.append_to_last_line(ended)
    });
    // Dropping it would wait for threads that may be blocked, such as one that waits for a hanging guard.
    runtime.shutdown_background();
    ended
}

async fn work_joined(joined: WorkerDaemon, signals: &mut Signals) -> Result<u8, CliError> {
    let (drain, first) = ShutdownSender::new();
    let (kill, second) = ShutdownSender::new();
    let worker = joined.work(WorkerShutdown { drain: first, kill: Some(second) });
    tokio::pin!(worker);
    tokio::select! {
        done = &mut worker => return exit_result(done),
        () = signals.next() => drain.shut_down(),
    }
    let what = "stopping: steps that run here finish first; a second signal kills them and returns them to the leader";
    info!("{what}");
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

/// A worker that knows its cluster.
pub(crate) struct WorkerDaemon {
    worker: ClusterWorker,
    route: JoinRoute,
}

impl WorkerDaemon {
    /// Looks for its leader.
    pub(crate) async fn new(order: &WorkerDaemonOptions) -> Result<Self, WorkerJoinFailure> {
        let state = StateDirectory::open(&order.state)?;
        let guard = guard_with_tethers(&state).await?;
        // The worker's identity is sent only to its own cluster.
        let cluster = find_within(order, &order.join.open(None)?).await?;
        let membership = Arc::new(state.join_cluster(&cluster)?);
        let route = order.join.open(Some(membership.secret().clone()))?;
        route.discover().await;
        let (name, at) = (&order.name, route.place());
        info!("worker {name} joins cluster {cluster} at {at}");
        let setup = ClusterWorkerSetup {
            name,
            slots: order.slots,
            labels: order.labels.clone(),
            scope: WorkerScope::AllRuns,
            root: &order.root,
            policy: &order.policy,
            disk_grace: order.disk_grace,
            compiled: &order.compiled,
            link: Arc::new(LoggingLink::new(route.link(), name)),
            output: route.ships(),
            objects: ObjectAccess::or_unavailable(route.objects(), NO_OBJECTS_BY_MAILBOX),
            death_notice: &|member, incarnation| {
                order.join.death_notice(member.secret(), incarnation)
            },
        };
        let mut worker = setup.assemble(WorkerBase { state, membership, guard })?;
        worker.runtime.leader_grace = order.leader_grace;
        worker.runtime.executor = Arc::new(LoggingExecutor::new(worker.runtime.executor, name));
        Ok(Self { worker, route })
    }

    /// Its mailbox link, if it uses one.
    pub(crate) fn mailbox_link(&self) -> Option<MailboxWorkerLink> {
        self.route.mailbox_link()
    }

    /// Its unsent output, readable until the process ends.
    pub(crate) fn unsent(&self) -> UnsentWorkerOutput {
        self.worker.unsent.clone()
    }

    /// Works until it is stopped, or cannot continue. It then takes [`ENDS_WITHIN`] at most, less if it must end
    /// immediately or has no leader.
    pub(crate) async fn work(self, ends: WorkerShutdown) -> Result<(), WorkerError> {
        let mut kill = ends.kill.clone();
        let (runtime, companions) = self.worker.start_shipping();
        let done = runtime.run(ends).await;
        let is_killed = kill.as_ref().is_some_and(ShutdownReceiver::is_due);
        let within = if is_killed { KILLED_WITHIN } else { ENDS_WITHIN };
        // If no leader answered for the grace period, none takes output or a deregistration either.
        let ending = companions.end(done.is_ok(), async |member| {
            self.route.deregister(member.secret(), member.incarnation()).await;
        });
        tokio::select! {
            _ = timeout(within, ending) => {}
            () = wait_for_order(&mut kill), if !is_killed => {}
        }
        done
    }
}

/// Fetches the cluster id within the worker's waiting time.
async fn find_within(
    order: &WorkerDaemonOptions,
    route: &JoinRoute,
) -> Result<String, WorkerJoinFailure> {
    let Some(patience) = order.patience else { return find(route).await };
    let found = timeout(patience, find(route)).await;
    found.unwrap_or(Err(WorkerJoinFailure::NoLeader(patience)))
}

/// Fetches the cluster id, retrying until an answer arrives.
async fn find(route: &JoinRoute) -> Result<String, WorkerJoinFailure> {
    let mut is_reported = false;
    loop {
        match route.cluster().await {
            Ok(cluster) => return Ok(cluster),
            Err(LinkError::Finished(final_status)) => {
                return Err(WorkerJoinFailure::Over(final_status));
            }
            Err(error) if error.is_final() => return Err(WorkerJoinFailure::Refused(error)),
            Err(error) if !is_reported => {
                warn!("{error}; trying again");
            }
            Err(_) => {}
        }
        is_reported = true;
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
