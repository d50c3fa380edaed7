//! Opens the stores, starts the node, submits or resumes.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use windlass_controller::api::ControllerIdentity;
use windlass_controller::traces::RunTracer;
use windlass_controller::{EngineView, NodeError};
use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineRequest, Event, SubmitRun, SubmitWarning,
};
use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::summary::RunSummary;
use windlass_net::random::new_run_id;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::NotifyingLogStore;
use windlass_worker::guard::kill_strays;

use super::gather_instances::{self, GatherOutcome};
use super::interrupts::InterruptListener;
use super::local_worker::{PendingGuard, start_worker};
use super::missing_secrets::{refuse_missing, refuse_missing_of_rest};
use super::options::{LocalRunKind, LocalRunOptions};
use super::watch::{FollowedRun, LocalRunWatch};
use crate::cli::error::CliError;
use crate::cli::output::ColorRole;
use crate::cli::{environment, exit, output};
use crate::embedded::{
    ControlSocket, EchoLogStore, EchoedChunk, EmbeddedNode, EmbeddedNodeError, LeaderOptions,
    OperatorMessages, StoreReader, Stores, is_of_cluster, system_now,
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
    let station = EmbeddedNode::start_leader(&stores, leader_options(&order)).await?;
    let (sockets, ends) = ShutdownSender::new();
    let socket = order.store.as_deref().and_then(|folder| {
        // The run continues even if no other process can connect to it.
        let about = ControllerIdentity { cluster: "local".to_owned(), advertise: String::new() };
        ControlSocket::bind(folder, station.api(&stores, &announced, about)).ok()
    });
    let socket = socket.map(|socket| tokio::spawn(socket.run(ends)));
    let (traces, ends) = ShutdownSender::new();
    let tracing = order.traced_by().map(|collector| {
        let (handle, journal) = (station.handle(), Arc::clone(&stores.journal));
        let tracing =
            RunTracer::new(handle, journal, collector.clone()).with_parent(order.parent());
        tokio::spawn(tracing.run(ends))
    });
    let equipment = PreparedWorker { logs: Arc::new(tee), printed, guard };
    let done = lead(&order, &stores, station, equipment).await;
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
    mut station: EmbeddedNode,
    equipment: PreparedWorker,
) -> Result<u8, CliError> {
    let PreparedWorker { logs, printed, guard } = equipment;
    let resumed = match resume(order, stores).await? {
        ResumeOutcome::NotRequested => None,
        ResumeOutcome::Continues(run) => Some(run),
        ResumeOutcome::Finished(code) => {
            station.shut_down().await?;
            return Ok(code);
        }
    };
    cancel_unfinished_runs(order, &station, resumed).await?;
    let mut interrupts = InterruptListener::listen()
        .map_err(|error| CliError::unreachable(format!("cannot listen for signals: {error}")))?;
    let mut company = gather_instances::bind_link(order, &station, &logs, &mut interrupts).await?;
    if let GatherOutcome::Ready(post) = company {
        start_worker(order, (&mut station, post.as_ref()), &logs, guard).await?;
        company = gather_instances::gather(order, &station, post, &mut interrupts).await?;
    }
    let post = match company {
        GatherOutcome::Ready(post) => post,
        GatherOutcome::Cancelled(code) => {
            station.shut_down().await?;
            return Ok(code);
        }
    };
    let watched = match resumed {
        None => submit(order, &station).await?,
        Some(run) => load_resumed_run(stores, run).await?,
    };
    let earlier = mpsc::channel(1).1;
    let FollowedRun { run, summary, from } = watched;
    // It ends with this function.
    let mut expecting = JoinSet::new();
    if let Some(leading) = &order.leading {
        expecting
            .spawn(Arc::clone(leading).report_instances_complete(station.handle().clone(), run));
    }
    let watch = LocalRunWatch {
        options: order,
        stores,
        station,
        logs,
        printed,
        run,
        interrupts,
        past_durations: earlier,
        mailbox_server: post,
    };
    watch.run(summary, from).await
}

/// The leader options: for a single process, or for other instances with the configured lease times.
fn leader_options(order: &LocalRunOptions) -> LeaderOptions {
    let look = order.look;
    let tell = OperatorMessages::with(move |what| {
        output::print_message(&format!("{} {what}", look.paint(ColorRole::Warn, "warning:")));
    });
    let office =
        LeaderOptions { messages: tell, ..LeaderOptions::exclusive(&environment::host_name()) };
    let Some(leading) = &order.leading else { return office };
    LeaderOptions { ttl: leading.ttl(), interval: leading.heartbeat, ..office }
}

async fn submit(order: &LocalRunOptions, station: &EmbeddedNode) -> Result<FollowedRun, CliError> {
    let LocalRunKind::New { plan, options, reused } = &order.kind else {
        unreachable!("only a new run is submitted")
    };
    let before = order.compiled.hooks.before_run(plan.pipeline()).await;
    before.map_err(|error| {
        CliError::usage(format!("the run was not started: {}", error.to_failure()))
    })?;
    let from = station.handle().views().look(|view| view.position);
    let now = system_now();
    let run = new_run_id(now);
    let (plan, options, reused) = (Arc::clone(plan), *options, reused.clone());
    let submit = SubmitRun { run, plan: Arc::clone(&plan), options, reused: reused.clone() };
    let answer = station.handle().ask(EngineRequest::Submit(submit)).await;
    match answer.map_err(|_| CliError::unreachable("the leader has ended"))? {
        EngineAnswer::Submitted { warnings } => tell_warnings(order, &warnings),
        EngineAnswer::Denied(denial) => return Err(CliError::unreachable(denial.to_string())),
        other => unreachable!("a submission is accepted or denied, not {other:?}"),
    }
    // Uses the journal's clock, like all later events.
    let submitted = |view: &EngineView| view.engine.run(run).map(|run| run.submitted_at);
    let at = station.handle().views().look(submitted).unwrap_or(now);
    let event = Event::RunSubmitted { run, plan, options, reused };
    let mut summary = RunSummary::from_submitted(at, &event).expect("the event is a submission");
    add_leader_and_workers(&mut summary, station);
    Ok(FollowedRun { run, summary, from })
}

/// The result of a resume request.
enum ResumeOutcome {
    /// Resume was not requested.
    NotRequested,
    Continues(RunId),
    /// The run has already ended.
    Finished(u8),
}

/// Finds the run to resume.
async fn resume(order: &LocalRunOptions, stores: &Stores) -> Result<ResumeOutcome, CliError> {
    let LocalRunKind::Resume { run, plan } = &order.kind else {
        return Ok(ResumeOutcome::NotRequested);
    };
    let records = StoreReader::read(stores.clone()).await?;
    let named = match run {
        Some(text) => Some(records.find(text).await?),
        None => None,
    };
    let pipeline = plan.as_ref().map_or("", |plan| plan.pipeline());
    match unfinished(&records, named, pipeline) {
        Some(summary) => {
            refuse_missing_of_rest(order, &summary)?;
            tell_changes(order, &summary, plan.as_deref());
            Ok(ResumeOutcome::Continues(summary.run()))
        }
        None => {
            nothing_to_resume(order, &records, named, pipeline).await.map(ResumeOutcome::Finished)
        }
    }
}

/// Loads the state of a resumed run.
async fn load_resumed_run(stores: &Stores, run: RunId) -> Result<FollowedRun, CliError> {
    let records = StoreReader::read(stores.clone()).await?;
    let summary = records.summary(run).await?;
    let summary = summary.ok_or_else(|| CliError::usage(format!("there is no run {run}")))?;
    Ok(FollowedRun { run, summary, from: records.position })
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
    station: &EmbeddedNode,
    resumed: Option<RunId>,
) -> Result<(), CliError> {
    let open: Vec<RunId> = station.handle().views().look(|view| {
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
        let cancel = EngineRequest::Cancel { run, level: CancelLevel::Kill };
        let asked = station.handle().ask(cancel).await;
        asked.map_err(|_| CliError::unreachable("the leader has ended"))?;
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

fn add_leader_and_workers(summary: &mut RunSummary, station: &EmbeddedNode) {
    station.handle().views().look(|view| {
        summary.set_leader(view.engine.term(), None);
        for worker in view.engine.workers() {
            summary.add_worker(worker.id, &worker.name, Some(&worker.labels));
            summary.set_worker_slots(worker.id, worker.slots, summary.submitted_at());
        }
    });
}

fn unfinished(records: &StoreReader, run: Option<RunId>, pipeline: &str) -> Option<RunSummary> {
    let wanted = |summary: &&RunSummary| match run {
        Some(run) => summary.run() == run,
        None => summary.plan().pipeline() == pipeline,
    };
    let mut open = records.open().rev().filter(wanted);
    open.find(|summary| !summary.status().is_terminal()).cloned()
}

fn tell_changes(order: &LocalRunOptions, summary: &RunSummary, now: Option<&Plan>) {
    let tally = summary.status_counts();
    let so_far = format!(
        "run {} continues: {} of {} steps had ended",
        summary.run(),
        tally.ended(),
        tally.total()
    );
    output::print_message(&so_far);
    let began = summary.plan();
    let other = |now: &Plan| now.fingerprint() != began.fingerprint();
    if now.is_some_and(|now| now.pipeline() == began.pipeline() && other(now)) {
        let what = "the file has changed since, or other params or steps are selected";
        let so = "this run keeps its original plan";
        output::print_message(&format!(
            "{} {what}: {so}",
            order.look.paint(ColorRole::Warn, "note:")
        ));
    }
}

async fn nothing_to_resume(
    order: &LocalRunOptions,
    records: &StoreReader,
    run: Option<RunId>,
    pipeline: &str,
) -> Result<u8, CliError> {
    let latest = match run {
        Some(run) => Some(run),
        None => records.latest_of(pipeline).await?,
    };
    let Some(latest) = latest else {
        output::print_message(&format!(
            "no run of {pipeline} is unfinished, and there was none before"
        ));
        return Ok(exit::SUCCESS);
    };
    let Some(summary) = records.summary(latest).await? else {
        return Err(CliError::usage(format!("there is no run {latest}")));
    };
    let status = summary.status();
    output::print_message(&match run {
        Some(run) => format!("run {run} cannot be resumed: it {status}"),
        None => format!("no run of {pipeline} is unfinished; the latest, {latest}, {status}"),
    });
    Ok(super::finish::exit_code(&summary, &order.named, false))
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
