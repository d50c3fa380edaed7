//! Opens the stores, starts the node, submits or resumes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use windlass_controller::traces::RunTracer;
use windlass_controller::{NodeError, StandbyPolicy};
use windlass_core::engine::RunOwner;
use windlass_core::id::{RunId, WorkerId};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::NotifyingLogStore;
use windlass_worker::guard::kill_strays;

use super::begin_run::{BegunRun, FollowedRun, begin_run};
use super::gather_instances::{self, GatherOutcome};
use super::local_worker::{WorkerPlace, start_worker};
use super::missing_secrets::refuse_missing;
use super::node_tasks::NodeTasks;
use super::options::LocalRunOptions;
use super::watch::watch;
use super::watched_local_run::{LocalEventFeed, LocalRun};
use crate::cli::ci_instances::InstanceMailboxServer;
use crate::cli::error::CliError;
use crate::cli::output::ColorRole;
use crate::cli::run_watch::InterruptListener;
use crate::cli::{environment, exit, output};
use crate::embedded::{
    EchoLogStore, EchoedChunk, EmbeddedNode, EmbeddedNodeError, LeaderOptions, OperatorMessages,
    RunEventReader, Stores, is_of_cluster, refuse_backup, runs_of,
};

/// How long a start waits for the leader before it says so.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Executes the order and returns the exit code.
pub(crate) fn run(order: LocalRunOptions) -> Result<u8, CliError> {
    refuse_missing(&order)?;
    // One thread for leader and worker, which exchange everything, and this one for the screen: a stopped terminal
    // stops nothing else.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::unreachable(format!("cannot start threads: {error}")))?;
    runtime.block_on(begin(order))
}

async fn begin(order: LocalRunOptions) -> Result<u8, CliError> {
    order.store.as_deref().map_or(Ok(()), refuse_backup)?;
    // Starting the guard takes as long as opening the stores.
    let place = WorkerPlace::claim(order.store.as_deref());
    let stores = open_stores(&order)?;
    let place = place.map_err(|error| {
        CliError::unreachable(format!("no worker can start in the folder of the store: {error}"))
    })?;
    let announced = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
    let (tee, printed) = EchoLogStore::new(Arc::clone(&announced) as _);
    let mut node = EmbeddedNode::open(&stores, leader_options(&order, &place)).await?;
    reach_leader(&order, &mut node).await?;
    let tasks = NodeTasks::start(&order, (&stores, &announced), &node, &place);
    let scratch = place.scratch.clone();
    let equipment = PreparedWorker { logs: Arc::new(tee), printed, place };
    let done = lead(&order, &stores, node, equipment).await;
    if order.store.is_none() {
        // A run in memory leaves nothing behind; a missing folder is no error.
        drop(std::fs::remove_dir_all(scratch));
    }
    tasks.end().await;
    done
}

fn open_stores(order: &LocalRunOptions) -> Result<Stores, CliError> {
    let stores = match &order.store {
        Some(folder) if order.accept_lost_history => Stores::open_accepting_loss(folder)?,
        Some(folder) => Stores::open(folder)?,
        None => Stores::in_memory(),
    };
    for warning in &stores.warnings {
        print_warning(order, warning);
    }
    Ok(stores)
}

fn print_warning(order: &LocalRunOptions, warning: &dyn std::fmt::Display) {
    let label = order.caps.paint(ColorRole::Warn, "warning:");
    output::print_message(&format!("{label} {warning}"));
}

/// Waits until this process leads, or reaches the process that does. Reports once what it waits for.
async fn reach_leader(order: &LocalRunOptions, node: &mut EmbeddedNode) -> Result<(), CliError> {
    if let Ok(reached) = timeout(SILENCE_MAX, node.until_it_reaches_leader()).await {
        return Ok(reached?);
    }
    let stalled = node.handle().views().with(|view| view.stalled.clone());
    let silent = || "the process that leads does not answer".to_owned();
    let why = stalled.map_or_else(silent, |error| error.to_string());
    print_warning(order, &format!("waiting: {why}"));
    Ok(node.until_it_reaches_leader().await?)
}

/// The parts of a worker, prepared while it has nothing to do.
struct PreparedWorker {
    logs: Arc<EchoLogStore>,
    printed: mpsc::Receiver<EchoedChunk>,
    place: WorkerPlace,
}

/// Ends what an earlier process left, works, and submits or resumes the run.
async fn lead(
    order: &LocalRunOptions,
    stores: &Stores,
    mut node: EmbeddedNode,
    equipment: PreparedWorker,
) -> Result<u8, CliError> {
    let PreparedWorker { logs, printed, mut place } = equipment;
    refuse_cluster_runs(order, &node)?;
    kill_strays_of_slot(&node, place.worker_place().worker()).await?;
    let mut interrupts = listen()?;
    let started = start_working(order, &mut node, (&logs, &mut place), &mut interrupts).await?;
    let (owner, mailbox_server) = match started {
        StartOutcome::Works(owner, mailbox_server) => (owner, mailbox_server),
        StartOutcome::Cancelled(code) => {
            node.shut_down().await?;
            return Ok(code);
        }
    };
    let followed = match begin_or_stop(order, stores, (&mut node, owner), &mut interrupts).await? {
        BegunRun::Followed(followed) => *followed,
        BegunRun::Finished(code) => {
            node.shut_down().await?;
            return Ok(code);
        }
    };
    let run = followed.summary.run();
    let _expecting = expect_instances(order, &node, run);
    let tracer = start_tracer(order, stores, &node, &followed);
    let events = run_events(stores, &node, &followed, owner);
    let run = LocalRun {
        options: order,
        stores,
        node,
        logs,
        printed,
        run,
        scratch: place.scratch.clone(),
        events: LocalEventFeed::new(events),
        past_durations: mpsc::channel(1).1,
        mailbox_server,
        reported_stall: false,
    };
    let done = watch(run, followed.summary, interrupts).await;
    tracer.end().await;
    done
}

/// Begins the run, unless the user does not wait for that.
async fn begin_or_stop(
    order: &LocalRunOptions,
    stores: &Stores,
    (node, owner): (&mut EmbeddedNode, RunOwner),
    interrupts: &mut InterruptListener,
) -> Result<BegunRun, CliError> {
    let handle = node.handle().clone();
    tokio::select! {
        begun = begin_run(order, stores, &handle, owner) => begun,
        failed = node.wait_for_failure() => Err(failed.into()),
        () = interrupts.next_end_request() => Ok(BegunRun::Finished(exit::INTERRUPTED)),
    }
}

fn listen() -> Result<InterruptListener, CliError> {
    let refused = |error| CliError::unreachable(format!("cannot listen for signals: {error}"));
    InterruptListener::listen().map_err(refused)
}

/// The events of the run; of a run that no other process shares, those of its own worker.
fn run_events(
    stores: &Stores,
    node: &EmbeddedNode,
    followed: &FollowedRun,
    owner: RunOwner,
) -> RunEventReader {
    let run = followed.summary.run();
    let events = RunEventReader::new(node.handle(), stores, run, followed.from);
    if owner.shares { events } else { events.of_worker(owner.worker) }
}

/// Whether the worker of this process works.
enum StartOutcome {
    Works(RunOwner, Option<InstanceMailboxServer>),
    /// A user cancelled it; the exit code.
    Cancelled(u8),
}

/// Starts the worker of this process, and waits for required instances.
async fn start_working(
    order: &LocalRunOptions,
    node: &mut EmbeddedNode,
    (logs, place): (&Arc<EchoLogStore>, &mut WorkerPlace),
    interrupts: &mut InterruptListener,
) -> Result<StartOutcome, CliError> {
    let bound = gather_instances::bind_link(order, node, logs, interrupts).await?;
    let mailbox_server = match bound {
        GatherOutcome::Ready(mailbox_server) => mailbox_server,
        GatherOutcome::Cancelled(code) => return Ok(StartOutcome::Cancelled(code)),
    };
    let worker = place.worker_place().worker();
    let incarnation =
        start_worker(order, (&mut *node, mailbox_server.as_ref()), logs, place).await?;
    let owner = RunOwner { worker, incarnation, shares: order.leading.is_some() };
    Ok(match gather_instances::gather(order, node, mailbox_server, interrupts).await? {
        GatherOutcome::Ready(mailbox_server) => StartOutcome::Works(owner, mailbox_server),
        GatherOutcome::Cancelled(code) => StartOutcome::Cancelled(code),
    })
}

/// Reports to the leader when no further instance is expected; until the returned set is dropped.
fn expect_instances(order: &LocalRunOptions, node: &EmbeddedNode, run: RunId) -> JoinSet<()> {
    let mut expecting = JoinSet::new();
    if let Some(leading) = &order.leading {
        let handle = node.handle().clone();
        expecting.spawn(Arc::clone(leading).report_instances_complete(handle, run));
    }
    expecting
}

/// The leader options: for one of the processes at a folder, for a run in memory, or for other instances with the
/// configured lease times.
fn leader_options(order: &LocalRunOptions, place: &WorkerPlace) -> LeaderOptions {
    let caps = order.caps;
    let messages = OperatorMessages::with(move |what| {
        output::print_message(&format!("{} {what}", caps.paint(ColorRole::Warn, "warning:")));
    });
    let name = environment::host_name();
    let options = match &order.store {
        Some(folder) => {
            let own = place.worker_place().worker();
            LeaderOptions::sharing(folder, &name, Some(own))
        }
        None => LeaderOptions::exclusive(&name),
    };
    let options = LeaderOptions { messages, ..options };
    let Some(leading) = &order.leading else { return options };
    // The others meet instance 0, so no other process can lead in its place.
    let stand_by = StandbyPolicy::Refuse;
    LeaderOptions { ttl: leading.ttl(), interval: leading.heartbeat, stand_by, ..options }
}

/// Sends the spans of the run, if there is a collector for them.
fn start_tracer(
    order: &LocalRunOptions,
    stores: &Stores,
    node: &EmbeddedNode,
    followed: &FollowedRun,
) -> RunningTracer {
    let (shutdown, ends) = ShutdownSender::new();
    let task = order.traced_by().map(|collector| {
        let tracer = RunTracer::new(node.handle(), &stores.journal, collector.clone())
            .with_parent(order.parent())
            .of_run(followed.summary.run(), followed.from);
        tokio::spawn(tracer.run(ends))
    });
    RunningTracer { shutdown, task }
}

/// The tracer of the run, if there is one.
struct RunningTracer {
    shutdown: ShutdownSender,
    task: Option<JoinHandle<()>>,
}

impl RunningTracer {
    async fn end(self) {
        self.shutdown.shut_down();
        if let Some(task) = self.task {
            drop(task.await);
        }
    }
}

/// Kills what an earlier process in this slot left alive. Its guard was killed too, or its steps would be gone.
async fn kill_strays_of_slot(node: &EmbeddedNode, worker: WorkerId) -> Result<(), CliError> {
    let runs = node.handle().views().with(|view| runs_of(view, |owner| owner.worker == worker));
    for run in runs {
        kill_strays(&format!("WINDLASS_RUN={run}")).await.map_err(|error| {
            CliError::unreachable(format!(
                "processes of the interrupted run {run} are still running: {error}"
            ))
        })?;
    }
    Ok(())
}

/// Refuses to lead runs of a cluster whose controller is not running now.
fn refuse_cluster_runs(order: &LocalRunOptions, node: &EmbeddedNode) -> Result<(), CliError> {
    let open = node.handle().views().with(|view| {
        let open = view.engine.runs().filter(|run| !run.status.is_at_rest());
        open.filter(|run| run.owner.is_none()).count()
    });
    let theirs = order.store.as_deref().is_some_and(is_of_cluster);
    if !theirs || open == 0 {
        return Ok(());
    }
    let what = match open {
        1 => "this store contains an unfinished run of a cluster".to_owned(),
        several => format!("this store contains {several} unfinished runs of a cluster"),
    };
    Err(CliError::usage(what).hint(
        "to continue it, start `windlass serve`; to run this elsewhere, use `--store FOLDER`",
    ))
}

impl From<EmbeddedNodeError> for CliError {
    fn from(error: EmbeddedNodeError) -> Self {
        match error {
            EmbeddedNodeError::Node(NodeError::Led { node, pid, address }) => {
                let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                let led =
                    Self::unreachable(format!("another windlass is running here: {node}{pid}"));
                match address {
                    Some(address) if pid.is_empty() => Self::unreachable(format!(
                        "{node} already leads, at {address}"
                    ))
                    .hint(format!("stand by with `--role auto`, or send commands to it with `--to {address}`")),
                    Some(address) => led
                        .hint(format!("it is a controller: submit the run with `windlass submit FILE --to {address}`")),
                    None => led.hint(
                        "wait for its end (`windlass watch latest`), or cancel it (`windlass cancel latest`)",
                    ),
                }
            }
            EmbeddedNodeError::Node(error @ NodeError::Diverged { .. }) => {
                Self::unreachable(error.to_string())
                    .hint("start it again: it continues with the contents of the store")
            }
            other => Self::unreachable(other.to_string()),
        }
    }
}
