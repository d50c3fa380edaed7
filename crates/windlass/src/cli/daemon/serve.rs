//! `windlass serve`: leads a store, answers its API, and runs steps itself.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::rate_limit::BucketRate;
use windlass_core::requirement::Labels;
use windlass_core::time::Span;

use super::event_log::EventLogger;
use super::listener::{ControllerListener, TlsPaths};
use super::mailbox_service::MailboxEndpoint;
use super::node_setup::{ControllerWorker, NodeSetup};
use super::shutdown_signals::ShutdownSignals;
use super::token_file::{self, TokenFileWatcher};
use super::wait_for_store::wait_for_store;
use crate::cli::error::CliError;
use crate::cli::extensions::ProgramExtensions;
use crate::cli::output::{LogLevel, Logger};
use crate::cli::{environment, exit};
use crate::controller::StandbyPolicy;
use crate::controller::api::{
    AllowedHosts, ControllerIdentity, FileTokens, HttpServer, metrics_router, router,
};
use crate::controller::replica::UpstreamCluster;
use crate::controller::traces::{RunTracer, TraceCollector};
use crate::embedded::{
    ControlSocket, EmbeddedNode, EmbeddedNodeError, OperatorMessages, StoreAddress, read_state,
};
use crate::link::http::ControllerAddress;
use crate::shutdown::{ShutdownReceiver, ShutdownSender};

/// How long threads are waited for when everything has ended. One that waits for a guard that hangs never returns.
pub(super) const RUNTIME_WITHIN: Duration = Duration::from_millis(500);

/// The label of a worker that runs nothing but what is pinned to the leader.
const PINNED_ONLY: &str = "pinned-only";

/// A controller to be.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ServeOptions {
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Where others reach it; where it listens if nothing else is said.
    pub(crate) advertise: Option<ControllerAddress>,
    /// What it speaks TLS with, if it does.
    pub(crate) tls: Option<TlsPaths>,
    /// What else it is known by.
    pub(crate) hosts: Vec<String>,
    /// Requests a second of one token or address.
    pub(crate) rate: u32,
    /// Where its stores are.
    pub(crate) store: StoreAddress,
    /// Whom it observes, if it does nothing else.
    pub(crate) observe: Option<Arc<UpstreamCluster>>,
    /// The folder of what is its own.
    pub(crate) state: PathBuf,
    /// What it is called.
    pub(crate) name: String,
    /// What it does while another one leads the same stores.
    pub(crate) stand_by: StandbyPolicy,
    /// How long its term lasts unless it is renewed, where others can lead.
    pub(crate) term: Span,
    /// Whether a folder is led that has lost what it had acknowledged.
    pub(crate) accept_lost_history: bool,
    /// Who vouches for other controllers.
    pub(crate) ca: Option<PathBuf>,
    /// How long leases last.
    pub(crate) ttl: Span,
    /// What it runs itself.
    pub(crate) own_worker_scope: OwnWorkerScope,
    /// Whether it asks for no token on a loopback address.
    pub(crate) no_token: bool,
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
    pub(crate) collector: Option<TraceCollector>,
    /// Where workers may leave letters.
    pub(crate) mail: Vec<MailboxEndpoint>,
    /// What its own steps inherit of its environment.
    pub(crate) policy: EnvironmentPolicy,
    /// What this program has beside windlass itself.
    pub(crate) compiled: ProgramExtensions,
    /// What says what goes on.
    pub(crate) log: Logger,
}

impl ServeOptions {
    pub(super) fn warn(&self, warnings: &[String]) {
        for warning in warnings {
            self.log.log_message(LogLevel::Warn, format!("warning: {warning}"));
        }
    }
}

/// What a controller runs itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnWorkerScope {
    /// Whatever it can.
    Anything,
    /// What is pinned to the leader.
    PinnedOnly,
}

impl ServeOptions {
    /// The folder in which commands find it.
    pub(super) fn home(&self) -> &Path {
        self.store.folder().unwrap_or(&self.state)
    }

    /// What its own worker advertises.
    pub(super) fn own_labels(&self) -> Labels {
        let more = (self.own_worker_scope == OwnWorkerScope::PinnedOnly).then_some(PINNED_ONLY);
        Labels::new(self.labels.iter().chain(more))
    }

    /// What operators are told while its own worker waits.
    pub(super) fn tell(&self) -> OperatorMessages {
        let log = self.log;
        OperatorMessages::with(move |what| log.log_message(LogLevel::Warn, what))
    }

    /// What is spoken where it listens.
    const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// Serves until it is told to end.
pub(crate) fn serve(order: &ServeOptions) -> Result<u8, CliError> {
    let runtime = crate::cli::run_source::runtime()?;
    let ended = runtime.block_on(async {
        let mut ends = ShutdownSignals::listen().map_err(|error| no_signals(&error))?;
        let mut controller = tokio::select! {
            started = ControllerDaemon::start(order) => started?,
            () = ends.next() => return Ok(exit::SUCCESS),
        };
        controller.log_startup(order);
        raise_descriptors();
        tokio::select! {
            () = ends.next() => {}
            failed = controller.wait_for_failure() => return Err(failed),
        }
        let what = "ending: steps that run here are finished first; once more ends them now";
        order.log.log_message(LogLevel::Info, what);
        controller.end(&mut ends).await
    });
    runtime.shutdown_timeout(RUNTIME_WITHIN);
    ended
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
pub(super) struct ControllerDaemon {
    station: EmbeddedNode,
    /// Its own worker.
    worker: ControllerWorker,
    /// Where it listens.
    url: String,
    advertise: String,
    cluster: String,
    /// Told first: nobody new is to be sent here.
    ending: ShutdownSender,
    /// Told last: what went on here was seen to its end.
    servers: ShutdownSender,
    tasks: Vec<JoinHandle<()>>,
}

/// Refuses a replica that every host could read from: it has tokens only once its leader told them.
fn refuse_open_replica(order: &ServeOptions, seat: &NodeSetup) -> Result<(), CliError> {
    let is_open = order.observe.is_some()
        && !order.listen.ip().is_loopback()
        && !requires_token(order, &seat.station);
    if is_open { Err(open_access_error(order)) } else { Ok(()) }
}

impl ControllerDaemon {
    /// Leads the store and answers.
    pub(super) async fn start(order: &ServeOptions) -> Result<Self, CliError> {
        let waits = |what| order.log.log_message(LogLevel::Warn, what);
        wait_for_store(&order.store, waits).await.map_err(EmbeddedNodeError::from)?;
        refuse_open_access(order).await?;
        let tokens = order.token_file.as_deref().map(token_file::read_all).transpose()?;
        let listener = listen(order.listen).await?;
        let address =
            listener.local_addr().map_err(|error| address_in_use_error(order.listen, &error))?;
        let tokens = match tokens {
            Some(tokens) => tokens,
            None => token_file::of_loopback(order, address).await?,
        };
        let tokens = FileTokens::new(&tokens);
        let doors = ControllerListener::new(listener, order)?;
        let url = format!("{}://{address}", order.scheme());
        let advertise = order.advertise.as_ref().map_or_else(|| url.clone(), ToString::to_string);
        let mut seat = NodeSetup::open(order, &advertise).await?;
        refuse_open_replica(order, &seat)?;
        let about =
            ControllerIdentity { cluster: seat.cluster.clone(), advertise: advertise.clone() };
        let (servers, ends) = ShutdownSender::new();
        let (ending, ends_soon) = ShutdownSender::new();
        let api = seat
            .api(about.clone())
            .with_tokens(tokens.clone())
            .with_allowed_hosts(hosts(order, address))
            .with_shutdown(ends_soon);
        let api = api.with_rate_limit(BucketRate { per_second: order.rate, burst: 2 * order.rate });
        let log = order.log;
        let api = api.with_refusal_log(move |what| log.log_message(LogLevel::Warn, what));
        let server = HttpServer::new(doors, router(Arc::new(api)));
        let mut tasks = observers(order, &seat, about.clone(), &ends).await?;
        tasks.push(tokio::spawn(server.run(ends.clone())));
        if let Some(file) = order.token_file.clone() {
            tasks.push(tokio::spawn(
                TokenFileWatcher { file, tokens, log: order.log }.run(ends.clone()),
            ));
        }
        for room in seat.mailbox_services(order, &about) {
            tasks.push(tokio::spawn(room.run(ends.clone())));
        }
        // For commands that are given in its folder. Others find it by its address.
        if let Ok(socket) = ControlSocket::bind(order.home(), seat.api(about)) {
            tasks.push(tokio::spawn(socket.run(ends)));
        }
        let hands = seat.start_worker(order).await?;
        let NodeSetup { station, cluster, .. } = seat;
        Ok(Self { station, worker: hands, url, advertise, cluster, ending, servers, tasks })
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn log_startup(&self, order: &ServeOptions) {
        let what = match order.own_worker_scope {
            _ if order.slots == 0 => "no steps run here".to_owned(),
            OwnWorkerScope::Anything => format!("{} steps at a time run here too", order.slots),
            OwnWorkerScope::PinnedOnly => "only steps pinned to the leader run here".to_owned(),
        };
        if let Some(upstream) = &order.observe {
            return order.log.log_banner(&format!(
                "windlass {} observes cluster {} at {} on {}\nnothing runs and nothing is kept here; it answers who only wants to know",
                env!("CARGO_PKG_VERSION"),
                self.cluster,
                upstream.place(),
                self.url,
            ));
        }
        let token = if requires_token(order, &self.station) { " --token-file FILE" } else { "" };
        let leads = match &order.store {
            StoreAddress::Folder(_) => "leads",
            StoreAddress::Postgres { .. } => "leads or stands by for",
        };
        order.log.log_banner(&format!(
            "windlass {} {leads} cluster {} on {}\n\
             runs are kept in {}; {what}\n\
             join:    windlass worker --join {}{token}\n\
             submit:  windlass submit FILE --to {}{token}",
            env!("CARGO_PKG_VERSION"),
            self.cluster,
            self.url,
            order.store,
            self.advertise,
            self.advertise,
        ));
    }

    /// Waits until it cannot go on; for ever if it can.
    pub(super) async fn wait_for_failure(&mut self) -> CliError {
        self.station.wait_for_failure().await.into()
    }

    /// Ends it: its own steps are finished first, unless it is told again.
    pub(super) async fn end(self, ends: &mut ShutdownSignals) -> Result<u8, CliError> {
        let Self { station, worker: hands, ending, servers, tasks, .. } = self;
        ending.shut_down();
        let unsent = match &hands {
            ControllerWorker::Separate(own) => Some(own.unsent()),
            ControllerWorker::Embedded { .. } | ControllerWorker::None => None,
        };
        let finish = async {
            match hands {
                // Others need not wait for what is finished here: its outcomes are told to who leads then.
                ControllerWorker::Separate(own) => {
                    own.end(|| station.retire()).await;
                }
                ControllerWorker::None => station.retire(),
                ControllerWorker::Embedded { .. } => {}
            }
            station.shut_down().await
        };
        let ended = tokio::select! {
            ended = finish => ended.map_err(Into::into),
            () = ends.next() => {
                if let Some((unsent, log)) = unsent {
                    unsent.log_if_any(log);
                }
                Ok(())
            }
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
    order: &ServeOptions,
    seat: &NodeSetup,
    about: ControllerIdentity,
    ends: &ShutdownReceiver,
) -> Result<Vec<JoinHandle<()>>, CliError> {
    let handle = seat.station.handle();
    let chronicle = EventLogger::new(Arc::clone(handle.views()), order.log, seat.company());
    let mut tasks = vec![tokio::spawn(chronicle.run(ends.clone()))];
    if let Some(address) = order.metrics {
        let listener = listen(address).await?;
        let api = seat.api(about).with_allowed_hosts(AllowedHosts::listening_on(address));
        let server = HttpServer::new(listener, metrics_router(Arc::new(api)));
        tasks.push(tokio::spawn(server.run(ends.clone())));
    }
    if let Some(collector) = order.collector.clone() {
        let traces = RunTracer::new(handle, Arc::clone(&seat.stores.journal), collector);
        tasks.push(tokio::spawn(traces.run(ends.clone())));
    }
    Ok(tasks)
}

/// What it is known by: where it listens, what its machine is called, and what else it was told.
fn hosts(order: &ServeOptions, address: SocketAddr) -> AllowedHosts {
    let hosts = order
        .hosts
        .iter()
        .fold(AllowedHosts::listening_on(address), |known, it| known.with_host(it));
    let hosts = hosts.with_host(&environment::host_name());
    match &order.advertise {
        Some(place) => hosts.advertised_as(place),
        None => hosts,
    }
}

/// Whether who comes has to show a token.
fn requires_token(order: &ServeOptions, station: &EmbeddedNode) -> bool {
    let in_store = || station.handle().views().look(|view| view.engine.keys().requires_token());
    order.token_file.is_some() || in_store()
}

/// Whoever reaches a controller that asks for nothing can run anything on its workers.
async fn refuse_open_access(order: &ServeOptions) -> Result<(), CliError> {
    let secure = order.advertise.as_ref().is_none_or(ControllerAddress::is_secure);
    if order.tls.is_some() && !secure {
        let what = "TLS is spoken here, and --advertise says http://";
        return Err(CliError::usage(what).hint("write it with https://"));
    }
    // Of an observer it is known when it has read who may ask.
    let later = order.observe.is_some();
    if later || order.listen.ip().is_loopback() || order.token_file.is_some() {
        return Ok(());
    }
    let has_tokens = read_state(&order.store, |engine| engine.keys().requires_token()).await;
    if has_tokens.map_err(EmbeddedNodeError::from)? == Some(true) {
        return Ok(());
    }
    Err(open_access_error(order))
}

fn open_access_error(order: &ServeOptions) -> CliError {
    let what = format!("{} can be reached from elsewhere, and there is no token", order.listen);
    CliError::usage(what).hint(
        "make one first: `windlass token create --scope admin > token`, to be shown with --token-file token; workers get one with --scope worker",
    )
}

async fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).await.map_err(|error| address_in_use_error(address, &error))
}

fn address_in_use_error(address: SocketAddr, error: &std::io::Error) -> CliError {
    let error = CliError::unreachable(format!("{address} cannot be listened on: {error}"));
    error.hint("another windlass may be there: choose another port with --listen 127.0.0.1:PORT")
}
