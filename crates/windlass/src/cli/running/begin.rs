//! Opens the stores, starts the station, submits or resumes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use windlass_core::engine::{Answer, CancelLevel, Event, Request, Submit, Warning};
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::summary::Summary;

use super::company::{self, Company};
use super::interrupts::Interrupts;
use super::missing::{refuse_missing, refuse_missing_of_rest};
use super::order::{Order, What};
use super::watch::{Watch, Watched};
use crate::chance::new_run;
use crate::cli::compiled::Workplace;
use crate::cli::error::CliError;
use crate::cli::instances::{Leading, Post};
use crate::cli::output::{self, Ink};
use crate::cli::{environment, exit};
use crate::controller::api::About;
use crate::controller::traces::Traces;
use crate::controller::{NodeError, View};
use crate::link::Link;
use crate::link::output::StoredOutput;
use crate::local::{
    Crew, Office, Printed, Records, Socket, Station, StationError, Stores, Tee, Tell,
    is_of_cluster, system_now,
};
use crate::logs::Announced;
use crate::shutdown::ShutdownSender;
use crate::store::{folder, private};
use crate::worker::executors::{MaskCache, Place, clear, process_environment};
use crate::worker::guard::{Guard, kill_strays};
use crate::worker::values::Depot;
use crate::worker::{Beside, GuardLock, GuardPlace, Lives};

/// Does what was asked for, and returns the exit code.
pub(crate) fn run(order: Order) -> Result<u8, CliError> {
    refuse_missing(&order)?;
    // One thread for leader and worker, which hand each other everything, and this one for the screen: a terminal that
    // is stopped stops nothing else.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| CliError::unreachable(format!("no threads: {error}")))?;
    runtime.block_on(begin(order))
}

async fn begin(order: Order) -> Result<u8, CliError> {
    // It takes as long to start as the stores to open.
    let guard = StartedGuard::early(order.store.as_deref());
    let stores = match &order.store {
        Some(folder) if order.accept_lost_history => Stores::open_accepting_loss(folder)?,
        Some(folder) => Stores::open(folder)?,
        None => Stores::in_memory(),
    };
    for warning in &stores.warnings {
        output::talk(&format!("{} {warning}", order.look.paint(Ink::Warn, "warning:")));
    }
    let announced = Arc::new(Announced::new(Arc::clone(&stores.logs)));
    let (tee, printed) = Tee::new(Arc::clone(&announced) as _);
    let station = Station::lead(&stores, office(&order)).await?;
    let (sockets, ends) = ShutdownSender::new();
    let socket = order.store.as_deref().and_then(|folder| {
        // A run that nobody else can talk to is still a run.
        let about = About { cluster: "local".to_owned(), advertise: String::new() };
        Socket::bind(folder, station.api(&stores, &announced, about)).ok()
    });
    let socket = socket.map(|socket| tokio::spawn(socket.run(ends)));
    let (traces, ends) = ShutdownSender::new();
    let tracing = order.traced_by().map(|collector| {
        let (handle, journal) = (station.handle(), Arc::clone(&stores.journal));
        let tracing = Traces::new(handle, journal, collector.clone()).under(order.parent());
        tokio::spawn(tracing.run(ends))
    });
    let equipment = Equipment { logs: Arc::new(tee), printed, guard };
    let done = lead(&order, &stores, station, equipment).await;
    traces.shut_down();
    if let Some(tracing) = tracing {
        drop(tracing.await);
    }
    if order.store.is_none() {
        // A run in memory leaves nothing; what is not there need not go.
        drop(std::fs::remove_dir_all(order.scratch()));
    }
    sockets.shut_down();
    if let Some(socket) = socket {
        drop(socket.await);
    }
    done
}

/// What a worker needs, got ready while there is nothing to do for it.
struct Equipment {
    logs: Arc<Tee>,
    printed: mpsc::Receiver<Printed>,
    guard: Option<StartedGuard>,
}

/// A guard that is about to be there, and where it holds its lock.
struct StartedGuard {
    guard: JoinHandle<io::Result<Guard>>,
    place: GuardPlace,
}

impl StartedGuard {
    /// Starts one, unless the guard of an earlier windlass is still there, or that windlass itself.
    fn early(store: Option<&Path>) -> Option<Self> {
        let Some(folder) = store else {
            return Some(Self {
                guard: tokio::spawn(Guard::start()),
                place: GuardPlace::default(),
            });
        };
        // What is wrong with the folder is told by the store.
        folder::make(folder).ok()?;
        let (lock, place) = GuardLock::try_take(folder).ok()??;
        Some(Self { guard: tokio::spawn(Guard::start_holding(lock)), place })
    }

    /// Starts one when this process leads the store: the guard of an earlier windlass is waited for.
    async fn late(folder: &Path) -> Result<Self, CliError> {
        let (lock, place) = GuardLock::take(folder).await.map_err(|error| not_started(&error))?;
        Ok(Self { guard: tokio::spawn(Guard::start_holding(lock)), place })
    }
}

/// Decides what goes on and what does not, and only then works.
async fn lead(
    order: &Order,
    stores: &Stores,
    mut station: Station,
    equipment: Equipment,
) -> Result<u8, CliError> {
    let Equipment { logs, printed, guard } = equipment;
    let resumed = match resume(order, stores).await? {
        Resumed::Nothing => None,
        Resumed::GoesOn(run) => Some(run),
        Resumed::Over(code) => {
            station.shut_down().await?;
            return Ok(code);
        }
    };
    abandon(order, &station, resumed).await?;
    let mut interrupts = Interrupts::listen()
        .map_err(|error| CliError::unreachable(format!("signals cannot be heard: {error}")))?;
    let mut company = company::meet(order, &station, &logs, &mut interrupts).await?;
    if let Company::Met(post) = company {
        start_worker(order, (&mut station, post.as_ref()), &logs, guard).await?;
        company = company::gather(order, &station, post, &mut interrupts).await?;
    }
    let post = match company {
        Company::Met(post) => post,
        Company::CalledOff(code) => {
            station.shut_down().await?;
            return Ok(code);
        }
    };
    let watched = match resumed {
        None => submit(order, &station).await?,
        Some(run) => go_on(stores, run).await?,
    };
    let earlier = mpsc::channel(1).1;
    let Watched { run, summary, from } = watched;
    // It ends with this function.
    let mut expecting = JoinSet::new();
    if let Some(leading) = &order.leading {
        expecting.spawn(Arc::clone(leading).expect(station.handle().clone(), run));
    }
    let watch = Watch { order, stores, station, logs, printed, run, interrupts, earlier, post };
    watch.run(summary, from).await
}

/// Starts the worker of this process, with the guard that was started early or one that is started now.
async fn start_worker(
    order: &Order,
    (station, post): (&mut Station, Option<&Post>),
    logs: &Arc<Tee>,
    guard: Option<StartedGuard>,
) -> Result<(), CliError> {
    let guard = match (guard, &order.store) {
        (None, Some(folder)) => StartedGuard::late(folder).await?,
        (guard, _) => guard.expect("a run in memory waits for no other"),
    };
    let (link, guard_place) = (Arc::new(station.handle().clone()), guard.place);
    let guard = started(guard.guard).await?;
    if let Some(post) = post {
        post.bind_steps(guard.clone()).await;
    }
    let crew = crew(order, Arc::clone(logs), link, guard)?;
    station.work(Crew { life: life(order, guard_place)?, ..crew }).await?;
    Ok(())
}

async fn started(guard: JoinHandle<io::Result<Guard>>) -> Result<Guard, CliError> {
    let started = guard.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
    started.map_err(|error| not_started(&error))
}

fn not_started(error: &io::Error) -> CliError {
    CliError::unreachable(format!("the process that starts steps cannot be started: {error}"))
}

/// The lives of the worker in a store, which number each start above the last.
fn life(order: &Order, guard: GuardPlace) -> Result<Option<(Arc<Lives>, GuardPlace)>, CliError> {
    let Some(folder) = &order.store else { return Ok(None) };
    Ok(Some((Arc::new(Lives::open(&folder.join("lives"))?), guard)))
}

/// How it leads: alone, or other instances at the pace that was set.
fn office(order: &Order) -> Office {
    let look = order.look;
    let tell = Tell::with(move |what| {
        output::talk(&format!("{} {what}", look.paint(Ink::Warn, "warning:")));
    });
    let office = Office { tell, ..Office::alone(&environment::host_name()) };
    let Some(leading) = &order.leading else { return office };
    Office { ttl: leading.ttl(), interval: leading.heartbeat, ..office }
}

fn crew(
    order: &Order,
    logs: Arc<Tee>,
    link: Arc<dyn Link>,
    guard: Guard,
) -> Result<Crew, CliError> {
    let name = match order.leading {
        Some(_) => Leading::WORKER.to_owned(),
        None => environment::host_name(),
    };
    let place = Place {
        root: order.root.clone(),
        scratch: scratch(order)?,
        worker: name.clone(),
        environment: process_environment(),
        policy: EnvironmentPolicy::PassAll,
        masks: MaskCache::default(),
    };
    let executor = order.compiled.executor(Workplace {
        place,
        guard,
        will: None,
        ends_calls: order.leading.is_some(),
        depot: Arc::new(Depot::new(Arc::new(StoredOutput(Arc::clone(&logs) as _)))),
        logs,
        link,
        traces: order.traces(),
    })?;
    let (slots, labels) = (order.slots, order.labels.clone());
    let beside = if order.leading.is_some() { Beside::Others } else { Beside::Nobody };
    Ok(Crew { name, slots, labels, beside, executor, life: None })
}

/// A folder for what steps write for windlass, without what those of a killed one left.
fn scratch(order: &Order) -> Result<PathBuf, CliError> {
    let scratch = order.scratch();
    folder::make(&scratch).map_err(|error| {
        CliError::unreachable(format!("{} cannot be made: {error}", scratch.display()))
    })?;
    // A folder for temporary files is everybody's: another user may have made this one.
    if order.store.is_none() && !private::is_own(&scratch) {
        let what = format!("{} belongs to another user", scratch.display());
        return Err(
            CliError::unreachable(what).hint("remove it, or set TMPDIR to a folder of yours")
        );
    }
    clear(&scratch);
    scratch.canonicalize().map_err(|error| {
        CliError::unreachable(format!("{} cannot be found: {error}", scratch.display()))
    })
}

async fn submit(order: &Order, station: &Station) -> Result<Watched, CliError> {
    let What::New { plan, options, reused } = &order.what else {
        unreachable!("only a new run is submitted")
    };
    let before = order.compiled.hooks.before_run(plan.pipeline()).await;
    before.map_err(|error| {
        CliError::usage(format!("the run was not begun: {}", error.to_failure()))
    })?;
    let from = station.handle().views().look(|view| view.position);
    let now = system_now();
    let run = new_run(now);
    let (plan, options, reused) = (Arc::clone(plan), *options, reused.clone());
    let submit = Submit { run, plan: Arc::clone(&plan), options, reused: reused.clone() };
    let answer = station.handle().ask(Request::Submit(submit)).await;
    match answer.map_err(|_| CliError::unreachable("the leader has ended"))? {
        Answer::Submitted { warnings } => tell_warnings(order, &warnings),
        Answer::Denied(denial) => return Err(CliError::unreachable(denial.to_string())),
        other => unreachable!("a submission is taken or denied, not {other:?}"),
    }
    // By the journal's clock, which all that follows is told by.
    let submitted = |view: &View| view.engine.run(run).map(|run| run.submitted_at);
    let at = station.handle().views().look(submitted).unwrap_or(now);
    let event = Event::RunSubmitted { run, plan, options, reused };
    let mut summary = Summary::from_submitted(at, &event).expect("it is a submission");
    know(&mut summary, station);
    Ok(Watched { run, summary, from })
}

/// What comes of a wish to resume.
enum Resumed {
    /// There was none.
    Nothing,
    GoesOn(RunId),
    /// There is nothing to do.
    Over(u8),
}

/// Finds the run that is to go on.
async fn resume(order: &Order, stores: &Stores) -> Result<Resumed, CliError> {
    let What::Resume { run, plan } = &order.what else { return Ok(Resumed::Nothing) };
    let records = Records::read(stores.clone()).await?;
    let named = match run {
        Some(text) => Some(records.find(text).await?),
        None => None,
    };
    let pipeline = plan.as_ref().map_or("", |plan| plan.pipeline());
    match unfinished(&records, named, pipeline) {
        Some(summary) => {
            refuse_missing_of_rest(order, &summary)?;
            tell_changes(order, &summary, plan.as_deref());
            Ok(Resumed::GoesOn(summary.run()))
        }
        None => nothing_to_resume(order, &records, named, pipeline).await.map(Resumed::Over),
    }
}

/// What is known of a run that goes on.
async fn go_on(stores: &Stores, run: RunId) -> Result<Watched, CliError> {
    let records = Records::read(stores.clone()).await?;
    let summary = records.summary(run).await?;
    let summary = summary.ok_or_else(|| CliError::usage(format!("there is no run {run}")))?;
    Ok(Watched { run, summary, from: records.position })
}

/// That nobody here can run a step is told when it is skipped; where others may come it is told now.
fn tell_warnings(order: &Order, warnings: &[Warning]) {
    let told =
        |it: &&Warning| order.leading.is_some() || !matches!(it, Warning::NoWorkerYet { .. });
    for warning in warnings.iter().filter(told) {
        output::talk(&format!("{} {warning}", order.look.paint(Ink::Warn, "warning:")));
    }
}

/// Runs that an earlier windlass left open would go on beside the one that is wanted, and what is left of their steps
/// beside their next attempts.
async fn abandon(order: &Order, station: &Station, resumed: Option<RunId>) -> Result<(), CliError> {
    let open: Vec<RunId> = station.handle().views().look(|view| {
        let open = view.engine.runs().filter(|run| !run.status.is_terminal());
        open.map(|run| run.id).collect()
    });
    spare_the_clusters(order, &open)?;
    for run in open {
        kill_strays(&format!("WINDLASS_RUN={run}")).await.map_err(|error| {
            CliError::unreachable(format!("steps of the interrupted run {run} still run: {error}"))
        })?;
        if Some(run) == resumed {
            continue;
        }
        let what = format!("run {run} was interrupted and is cancelled now");
        let hint = format!(
            "`--resume` would have gone on with it; `windlass rerun {run} --failed` does what it had not"
        );
        output::talk(&format!("{} {what}; {hint}", order.look.paint(Ink::Quiet, "note:")));
        let cancel = Request::Cancel { run, level: CancelLevel::Kill };
        let asked = station.handle().ask(cancel).await;
        asked.map_err(|_| CliError::unreachable("the leader has ended"))?;
    }
    Ok(())
}

/// Runs of a cluster whose controller is not there now are not this command's to end, nor to go on with.
fn spare_the_clusters(order: &Order, open: &[RunId]) -> Result<(), CliError> {
    let theirs = order.store.as_deref().is_some_and(is_of_cluster);
    if !theirs || open.is_empty() {
        return Ok(());
    }
    let what = match open.len() {
        1 => "a run of a cluster is kept here and not over".to_owned(),
        several => format!("{several} runs of a cluster are kept here and not over"),
    };
    Err(CliError::usage(what)
        .hint("`windlass serve` goes on with it; `--store FOLDER` runs this elsewhere"))
}

fn know(summary: &mut Summary, station: &Station) {
    station.handle().views().look(|view| {
        summary.know_leader(view.engine.term(), None);
        for worker in view.engine.workers() {
            summary.know_worker(worker.id, &worker.name, Some(&worker.labels));
            summary.know_slots(worker.id, worker.slots, summary.submitted_at());
        }
    });
}

fn unfinished(records: &Records, run: Option<RunId>, pipeline: &str) -> Option<Summary> {
    let wanted = |summary: &&Summary| match run {
        Some(run) => summary.run() == run,
        None => summary.plan().pipeline() == pipeline,
    };
    let mut open = records.open().rev().filter(wanted);
    open.find(|summary| !summary.status().is_terminal()).cloned()
}

fn tell_changes(order: &Order, summary: &Summary, now: Option<&Plan>) {
    let tally = summary.tally();
    let so_far = format!(
        "run {} goes on: {} of {} steps had ended",
        summary.run(),
        tally.ended(),
        tally.total()
    );
    output::talk(&so_far);
    let began = summary.plan();
    let other = |now: &Plan| now.fingerprint() != began.fingerprint();
    if now.is_some_and(|now| now.pipeline() == began.pipeline() && other(now)) {
        let what = "the file has changed since, or other params or steps are asked for";
        let so = "this run keeps the plan that it began with";
        output::talk(&format!("{} {what}: {so}", order.look.paint(Ink::Warn, "note:")));
    }
}

async fn nothing_to_resume(
    order: &Order,
    records: &Records,
    run: Option<RunId>,
    pipeline: &str,
) -> Result<u8, CliError> {
    let latest = match run {
        Some(run) => Some(run),
        None => records.latest_of(pipeline).await?,
    };
    let Some(latest) = latest else {
        output::talk(&format!("no run of {pipeline} is unfinished, and there was none before"));
        return Ok(exit::SUCCESS);
    };
    let Some(summary) = records.summary(latest).await? else {
        return Err(CliError::usage(format!("there is no run {latest}")));
    };
    let status = summary.status();
    output::talk(&match run {
        Some(run) => format!("run {run} is not unfinished: it {status}"),
        None => format!("no run of {pipeline} is unfinished; the latest, {latest}, {status}"),
    });
    Ok(super::finish::exit_code(&summary, &order.named, false))
}

impl From<StationError> for CliError {
    fn from(error: StationError) -> Self {
        match error {
            StationError::Node(NodeError::Led { node, pid, address }) => {
                let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                let led = Self::unreachable(format!("another windlass runs here: {node}{pid}"));
                match address {
                    Some(address) if pid.is_empty() => Self::unreachable(format!(
                        "{node} leads already, at {address}"
                    ))
                    .hint(format!("`--role auto` stands by; commands ask it: `--to {address}`")),
                    Some(address) => led
                        .hint(format!("it is a controller: `windlass submit FILE --to {address}`")),
                    None => led.hint(
                        "wait for its end (`windlass watch latest`), end it (`windlass cancel latest`), or \
                         run beside it with `--store FOLDER`",
                    ),
                }
            }
            StationError::Node(error @ NodeError::Diverged { .. }) => {
                Self::unreachable(error.to_string())
                    .hint("start it again: it begins with what the store has")
            }
            other => Self::unreachable(other.to_string()),
        }
    }
}
