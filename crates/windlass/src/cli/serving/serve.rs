//! `windlass serve`: leads a store, answers its API, and runs steps itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use windlass_core::rate::Rate;
use windlass_core::requirement::Labels;
use windlass_core::time::Span;

use super::chronicle::Chronicle;
use super::doors::{Doors, TlsPaths};
use super::ends::Ends;
use super::post::{guard, place};
use super::token::{self, Rereading};
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::output::{Level, Logger};
use crate::controller::api::{About, Api, FileTokens, Hosts, Server, metrics_router, router};
use crate::controller::traces::{Collector, Traces};
use crate::link::http::Place;
use crate::local::{Crew, Office, Socket, Station, StationError, Stores, cluster_id, peek};
use crate::logs::Announced;
use crate::shutdown::{Shutdown, ShutdownSender};
use crate::worker::State;
use crate::worker::executors::{self, Builtin};

/// The label of a worker that runs nothing but what is pinned to the leader.
const PINNED_ONLY: &str = "pinned-only";

/// A controller to be.
#[derive(Debug)]
pub(crate) struct Serve {
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Where others reach it; where it listens if nothing else is said.
    pub(crate) advertise: Option<Place>,
    /// What it speaks TLS with, if it does.
    pub(crate) tls: Option<TlsPaths>,
    /// What else it is known by.
    pub(crate) hosts: Vec<String>,
    /// Requests a second of one token or address.
    pub(crate) rate: u32,
    /// The folder of its stores.
    pub(crate) store: PathBuf,
    /// How long leases last.
    pub(crate) ttl: Span,
    /// What it runs itself.
    pub(crate) runs: Runs,
    /// The file of tokens that are in no store.
    pub(crate) token_file: Option<PathBuf>,
    /// Steps at a time.
    pub(crate) slots: u32,
    /// What it advertises.
    pub(crate) labels: Labels,
    /// Where its steps run.
    pub(crate) root: PathBuf,
    /// Where metrics are for everybody, if they are.
    pub(crate) metrics: Option<SocketAddr>,
    /// Where spans go, if they do.
    pub(crate) collector: Option<Collector>,
    /// What says what goes on.
    pub(crate) log: Logger,
}

impl Serve {
    fn warn(&self, warnings: &[String]) {
        for warning in warnings {
            self.log.note(Level::Warn, format!("warning: {warning}"));
        }
    }
}

/// What a controller runs itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Whatever it can.
    Anything,
    /// What is pinned to the leader.
    PinnedOnly,
}

impl Serve {
    /// What is spoken where it listens.
    const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// Serves until it is told to end.
pub(crate) fn serve(order: &Serve) -> Result<u8, CliError> {
    crate::cli::reading::runtime()?.block_on(async {
        let mut ends = Ends::listen().map_err(|error| no_signals(&error))?;
        let mut controller = Controller::start(order).await?;
        controller.say_hello(order);
        raise_descriptors();
        tokio::select! {
            () = ends.next() => {}
            failed = controller.fails() => return Err(failed),
        }
        let what = "ending: steps that run here are finished first; once more ends them now";
        order.log.note(Level::Info, what);
        controller.end(&mut ends).await
    })
}

/// Every connection is a descriptor, and many systems give a process 1,024 unless it asks for more. It asks once the
/// guard is there: steps are to have what they would have anywhere.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // Where it is not given, connections wait sooner for others to end.
    let _ = setrlimit(Resource::Nofile, raised);
}

pub(super) fn no_signals(error: &std::io::Error) -> CliError {
    CliError::unreachable(format!("signals cannot be heard: {error}"))
}

/// A controller at work.
#[derive(Debug)]
pub(super) struct Controller {
    station: Station,
    /// Where it listens.
    url: String,
    advertise: String,
    cluster: String,
    /// Told first: nobody new is to be sent here.
    ending: ShutdownSender,
    /// Told last: what went on here was seen to its end.
    servers: ShutdownSender,
    tasks: Vec<JoinHandle<()>>,
    /// Where its own worker lives.
    _state: State,
}

impl Controller {
    /// Leads the store and answers.
    pub(super) async fn start(order: &Serve) -> Result<Self, CliError> {
        refuse_open_doors(order).await?;
        let tokens = order.token_file.as_deref().map(token::read_all).transpose()?;
        let tokens = FileTokens::new(&tokens.unwrap_or_default());
        let listener = listen(order.listen).await?;
        let address = listener.local_addr().map_err(|error| taken(order.listen, &error))?;
        let doors = Doors::new(listener, order)?;
        let url = format!("{}://{address}", order.scheme());
        let advertise = order.advertise.as_ref().map_or_else(|| url.clone(), ToString::to_string);
        let stores = Stores::open(&order.store)?;
        order.warn(&stores.warnings);
        let office = Office {
            name: environment::host_name(),
            address: Some(advertise.clone()),
            ttl: order.ttl,
        };
        let mut station = Station::lead(&stores, office).await?;
        let cluster = cluster_id(&order.store).map_err(|error| {
            CliError::unreachable(format!("the store cannot be named: {error}"))
        })?;
        let logs = Arc::new(Announced::new(Arc::clone(&stores.logs)));
        let about = About { cluster: cluster.clone(), advertise: advertise.clone() };
        let (servers, ends) = ShutdownSender::new();
        let (ending, ends_soon) = ShutdownSender::new();
        let api = station.api(&stores, &logs, about.clone());
        let api = api.with_tokens(tokens.clone()).known_as(hosts(order, address)).until(ends_soon);
        let api = api.at_rate(Rate { each_second: order.rate, at_once: 2 * order.rate });
        let server = Server::new(doors, router(Arc::new(api)));
        let told = station.api(&stores, &logs, about.clone());
        let mut tasks = observers(order, (&station, &stores), told, &ends).await?;
        tasks.push(tokio::spawn(server.run(ends.clone())));
        if let Some(file) = order.token_file.clone() {
            tasks.push(tokio::spawn(Rereading { file, tokens, log: order.log }.run(ends.clone())));
        }
        // For commands that are given in its folder. Others find it by its address.
        if let Ok(socket) = Socket::bind(&order.store, station.api(&stores, &logs, about)) {
            tasks.push(tokio::spawn(socket.run(ends)));
        }
        let state = State::open(&order.store.join("workers/leader"))?;
        station.work(crew(order, &state, logs).await?).await?;
        Ok(Self { station, url, advertise, cluster, ending, servers, tasks, _state: state })
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn say_hello(&self, order: &Serve) {
        let what = match order.runs {
            Runs::Anything => format!("{} steps at a time run here too", order.slots),
            Runs::PinnedOnly => "only steps pinned to the leader run here".to_owned(),
        };
        let token = if asks(order, &self.station) { " --token-file FILE" } else { "" };
        order.log.greet(&format!(
            "windlass {} leads cluster {} on {}\n\
             runs are kept in {}; {what}\n\
             join:    windlass worker --join {}{token}\n\
             submit:  windlass submit FILE --to {}{token}",
            env!("CARGO_PKG_VERSION"),
            self.cluster,
            self.url,
            order.store.display(),
            self.advertise,
            self.advertise,
        ));
    }

    /// Waits until it cannot go on; for ever if it can.
    pub(super) async fn fails(&mut self) -> CliError {
        self.station.fails().await.into()
    }

    /// Ends it: its own steps are finished first, unless it is told again.
    pub(super) async fn end(self, ends: &mut Ends) -> Result<u8, CliError> {
        let Self { station, ending, servers, tasks, .. } = self;
        ending.shut_down();
        let ended = tokio::select! {
            ended = station.shut_down() => ended.map_err(Into::into),
            () = ends.next() => Ok(()),
        };
        servers.shut_down();
        for task in tasks {
            drop(task.await);
        }
        ended.map(|()| 0)
    }
}

/// Those who tell of what goes on: in lines, in numbers and in spans.
async fn observers(
    order: &Serve,
    (station, stores): (&Station, &Stores),
    api: Api,
    ends: &Shutdown,
) -> Result<Vec<JoinHandle<()>>, CliError> {
    let views = Arc::clone(station.handle().views());
    let chronicle = Chronicle::new(views, order.log);
    let mut tasks = vec![tokio::spawn(chronicle.run(ends.clone()))];
    if let Some(address) = order.metrics {
        let listener = listen(address).await?;
        let api = api.known_as(Hosts::listening_on(address));
        let server = Server::new(listener, metrics_router(Arc::new(api)));
        tasks.push(tokio::spawn(server.run(ends.clone())));
    }
    if let Some(collector) = order.collector.clone() {
        let traces = Traces::new(station.handle(), Arc::clone(&stores.journal), collector);
        tasks.push(tokio::spawn(traces.run(ends.clone())));
    }
    Ok(tasks)
}

/// The controller's own worker. What a former life of it left alive is killed: its leases end with its life.
async fn crew(order: &Serve, state: &State, logs: Arc<Announced>) -> Result<Crew, CliError> {
    state.kill_strays().await?;
    let name = environment::host_name();
    let place = place(state, &order.root, &name);
    let executor =
        Builtin::new(place, guard(state).await?, logs).with_traces(executors::Traces::Own(None));
    let executor = Arc::new(executor);
    let more = (order.runs == Runs::PinnedOnly).then_some(PINNED_ONLY);
    let labels = Labels::new(order.labels.iter().chain(more));
    Ok(Crew { name, slots: order.slots, labels, executor })
}

/// What it is known by: where it listens, what its machine is called, and what else it was told.
fn hosts(order: &Serve, address: SocketAddr) -> Hosts {
    let hosts = order.hosts.iter().fold(Hosts::listening_on(address), |known, it| known.and(it));
    let hosts = hosts.and(&environment::host_name());
    match &order.advertise {
        Some(place) => hosts.advertised_as(place),
        None => hosts,
    }
}

/// Whether who comes has to show a token.
fn asks(order: &Serve, station: &Station) -> bool {
    let in_store = || station.handle().views().look(|view| view.engine.keys().asks());
    order.token_file.is_some() || in_store()
}

/// Whoever reaches a controller that asks for nothing can run anything on its workers.
async fn refuse_open_doors(order: &Serve) -> Result<(), CliError> {
    let secure = order.advertise.as_ref().is_none_or(Place::is_secure);
    if order.tls.is_some() && !secure {
        let what = "TLS is spoken here, and --advertise says http://";
        return Err(CliError::usage(what).hint("write it with https://"));
    }
    if order.listen.ip().is_loopback() || order.token_file.is_some() {
        return Ok(());
    }
    let has_tokens = peek(&order.store, |engine| engine.keys().asks()).await;
    if has_tokens.map_err(StationError::from)? == Some(true) {
        return Ok(());
    }
    let what = format!("{} can be reached from elsewhere, and there is no token", order.listen);
    Err(CliError::usage(what).hint(
        "make one first: `windlass token create --scope admin > token`, to be shown with --token-file token; workers get one with --scope worker",
    ))
}

async fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).await.map_err(|error| taken(address, &error))
}

fn taken(address: SocketAddr, error: &std::io::Error) -> CliError {
    let error = CliError::unreachable(format!("{address} cannot be listened on: {error}"));
    error.hint("another windlass may be there: choose another port with --listen 127.0.0.1:PORT")
}
