//! Opens the stores, starts the node, submits or resumes.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use windlass_controller::NodeError;
use windlass_controller::api::ControllerIdentity;
use windlass_controller::traces::RunTracer;
use windlass_core::engine::{CancelLevel, EngineCall, SubmitRun, SubmitWarning};
use windlass_core::id::RunId;
use windlass_net::random::new_run_id;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::NotifyingLogStore;
use windlass_worker::guard::kill_strays;

use super::gather_instances::{self, GatherOutcome};
use super::local_worker::{PendingGuard, start_worker};
use super::missing_secrets::refuse_missing;
use super::options::{LocalRunKind, LocalRunOptions};
use super::resume::{FollowedRun, ResumeOutcome, load_resumed_run, resume};
use super::watch::watch;
use super::watched_local_run::{LocalEventFeed, LocalRun};
use crate::cli::error::CliError;
use crate::cli::output::ColorRole;
use crate::cli::run_watch::InterruptListener;
use crate::cli::{environment, output};
use crate::embedded::{
    ControlSocket, EchoLogStore, EchoedChunk, EmbeddedNode, EmbeddedNodeError, LeaderOptions,
    OperatorMessages, RunEventReader, Stores, SubmittedRun, is_of_cluster, system_now,
};

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
    // Starting the guard takes as long as opening the stores.
    let guard = PendingGuard::early(order.store.as_deref());
    let stores = match &order.store {
        Some(folder) if order.accept_lost_history => Stores::open_accepting_loss(folder)?,
        Some(folder) => Stores::open(folder)?,
        None => Stores::in_memory(),
    };
    for warning in &stores.warnings {
        output::print_message(&format!(
            "{} {warning}",
            order.look.paint(ColorRole::Warn, "warning:")
        ));
    }
    let announced = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
    let (tee, printed) = EchoLogStore::new(Arc::clone(&announced) as _);
    let node = EmbeddedNode::start_leader(&stores, leader_options(&order)).await?;
    let (sockets, ends) = ShutdownSender::new();
    let socket = order.store.as_deref().and_then(|folder| {
        // The run continues even if no other process can connect to it.
        let about = ControllerIdentity { cluster: "local".to_owned(), advertise: String::new() };
        ControlSocket::bind(folder, node.api(&stores, &announced, about)).ok()
    });
    let socket = socket.map(|socket| tokio::spawn(socket.run(ends)));
    let (traces, ends) = ShutdownSender::new();
    let tracing = order.traced_by().map(|collector| {
        let (handle, journal) = (node.handle(), Arc::clone(&stores.journal));
        let tracing =
            RunTracer::new(handle, &journal, collector.clone()).with_parent(order.parent());
        tokio::spawn(tracing.run(ends))
    });
    let equipment = PreparedWorker { logs: Arc::new(tee), printed, guard };
    let done = lead(&order, &stores, node, equipment).await;
    traces.shut_down();
    if let Some(tracing) = tracing {
        drop(tracing.await);
    }
    if order.store.is_none() {
        // A run in memory leaves nothing behind; a missing folder is no error.
        drop(std::fs::remove_dir_all(order.scratch()));
    }
    sockets.shut_down();
    if let Some(socket) = socket {
        drop(socket.await);
    }
    done
}

/// The parts of a worker, prepared while it has nothing to do.
struct PreparedWorker {
    logs: Arc<EchoLogStore>,
    printed: mpsc::Receiver<EchoedChunk>,
    guard: Option<PendingGuard>,
}

/// Resumes or cancels earlier runs first, and only then starts to work.
async fn lead(
    order: &LocalRunOptions,
    stores: &Stores,
    mut node: EmbeddedNode,
    equipment: PreparedWorker,
) -> Result<u8, CliError> {
    let PreparedWorker { logs, printed, guard } = equipment;
    let resumed = match resume(order, stores).await? {
        ResumeOutcome::NotRequested => None,
        ResumeOutcome::Continues(run) => Some(run),
        ResumeOutcome::Finished(code) => {
            node.shut_down().await?;
            return Ok(code);
        }
    };
    cancel_unfinished_runs(order, &node, resumed).await?;
    let mut interrupts = InterruptListener::listen()
        .map_err(|error| CliError::unreachable(format!("cannot listen for signals: {error}")))?;
    let started = start_working(order, &mut node, (&logs, guard), &mut interrupts).await?;
    let mailbox_server = match started {
        GatherOutcome::Ready(mailbox_server) => mailbox_server,
        GatherOutcome::Cancelled(code) => {
            node.shut_down().await?;
            return Ok(code);
        }
    };
    let watched = match resumed {
        None => submit(order, &node).await?,
        Some(run) => load_resumed_run(stores, run).await?,
    };
    let FollowedRun { summary, from } = watched;
    let run = summary.run();
    let _expecting = expect_instances(order, &node, run);
    let events = RunEventReader::new(node.handle(), stores, run, from);
    let run = LocalRun {
        options: order,
        stores,
        node,
        logs,
        printed,
        run,
        events: LocalEventFeed::new(events),
        past_durations: mpsc::channel(1).1,
        mailbox_server,
        reported_stall: false,
    };
    watch(run, summary, interrupts).await
}

/// Starts the worker of this process, and waits for required instances.
async fn start_working(
    order: &LocalRunOptions,
    node: &mut EmbeddedNode,
    (logs, guard): (&Arc<EchoLogStore>, Option<PendingGuard>),
    interrupts: &mut InterruptListener,
) -> Result<GatherOutcome, CliError> {
    let bound = gather_instances::bind_link(order, node, logs, interrupts).await?;
    let GatherOutcome::Ready(mailbox_server) = bound else { return Ok(bound) };
    start_worker(order, (&mut *node, mailbox_server.as_ref()), logs, guard).await?;
    gather_instances::gather(order, node, mailbox_server, interrupts).await
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

/// The leader options: for a single process, or for other instances with the configured lease times.
fn leader_options(order: &LocalRunOptions) -> LeaderOptions {
    let look = order.look;
    let tell = OperatorMessages::with(move |what| {
        output::print_message(&format!("{} {what}", look.paint(ColorRole::Warn, "warning:")));
    });
    let options =
        LeaderOptions { messages: tell, ..LeaderOptions::exclusive(&environment::host_name()) };
    let Some(leading) = &order.leading else { return options };
    LeaderOptions { ttl: leading.ttl(), interval: leading.heartbeat, ..options }
}

async fn submit(order: &LocalRunOptions, node: &EmbeddedNode) -> Result<FollowedRun, CliError> {
    let LocalRunKind::New { plan, options, reused } = &order.kind else {
        unreachable!("only a new run is submitted")
    };
    let before = order.compiled.hooks.before_run(plan.pipeline()).await;
    before.map_err(|error| {
        CliError::usage(format!("the run was not started: {}", error.to_failure()))
    })?;
    let (plan, options, reused) = (Arc::clone(plan), *options, reused.clone());
    let submit = SubmitRun { run: new_run_id(system_now()), plan, options, reused };
    let submitted = SubmittedRun::submit(node.handle(), submit).await;
    let submitted = submitted.map_err(|_| CliError::unreachable("the leader has ended"))?;
    let (SubmittedRun { summary, from }, warnings) =
        submitted.map_err(|denial| CliError::unreachable(denial.to_string()))?;
    tell_warnings(order, &warnings);
    Ok(FollowedRun { summary, from })
}

/// Prints warnings about steps that no worker can run yet. In a single process such a step is reported when it is
/// skipped.
fn tell_warnings(order: &LocalRunOptions, warnings: &[SubmitWarning]) {
    let told = |it: &&SubmitWarning| {
        order.leading.is_some() || !matches!(it, SubmitWarning::NoWorkerYet { .. })
    };
    for warning in warnings.iter().filter(told) {
        output::print_message(&format!(
            "{} {warning}",
            order.look.paint(ColorRole::Warn, "warning:")
        ));
    }
}

/// Cancels runs that an earlier windlass left unfinished: they would run beside the requested one, and leftover
/// processes beside their next attempts.
async fn cancel_unfinished_runs(
    order: &LocalRunOptions,
    node: &EmbeddedNode,
    resumed: Option<RunId>,
) -> Result<(), CliError> {
    let open: Vec<RunId> = node.handle().views().look(|view| {
        let open = view.engine.runs().filter(|run| !run.status.is_terminal());
        open.map(|run| run.id).collect()
    });
    refuse_cluster_runs(order, &open)?;
    for run in open {
        kill_strays(&format!("WINDLASS_RUN={run}")).await.map_err(|error| {
            CliError::unreachable(format!(
                "processes of the interrupted run {run} are still running: {error}"
            ))
        })?;
        if Some(run) == resumed {
            continue;
        }
        let what = format!("run {run} was interrupted and is now cancelled");
        let hint = format!(
            "`--resume` would have continued it; `windlass rerun {run} --failed` runs its remaining steps"
        );
        output::print_message(&format!(
            "{} {what}; {hint}",
            order.look.paint(ColorRole::Quiet, "note:")
        ));
        let cancelled = node.handle().call(EngineCall::cancel(run, CancelLevel::Kill)).await;
        // A denial means that the run has ended meanwhile.
        drop(cancelled.map_err(|_| CliError::unreachable("the leader has ended"))?);
    }
    Ok(())
}

/// Refuses to end or resume runs of a cluster whose controller is not running now.
fn refuse_cluster_runs(order: &LocalRunOptions, open: &[RunId]) -> Result<(), CliError> {
    let theirs = order.store.as_deref().is_some_and(is_of_cluster);
    if !theirs || open.is_empty() {
        return Ok(());
    }
    let what = match open.len() {
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
                        "wait for its end (`windlass watch latest`), cancel it (`windlass cancel latest`), or \
                         use another store with `--store FOLDER`",
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
