//! `windlass serve`: leads a store, answers its API, and runs steps.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tracing::{info, warn};
use windlass_controller::StandbyPolicy;
use windlass_controller::api::{
    AllowedHosts, ControllerIdentity, FileTokens, HttpServer, metrics_router, router,
};
use windlass_controller::replica::UpstreamCluster;
use windlass_controller::traces::{RunTracer, TraceCollector};
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::rate_limit::BucketRate;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::time::Span;
use windlass_net::http::ControllerAddress;
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};

use super::event_log::EventLogger;
use super::listener::{ControllerListener, TlsPaths};
use super::mailbox_service::MailboxEndpoint;
use super::node_setup::{ControllerWorker, NodeSetup};
use super::shutdown_signals::ShutdownSignals;
use super::token_file::{self, TokenFileWatcher};
use super::wait_for_store::wait_for_store;
use crate::cli::error::CliError;
use crate::cli::extensions::ProgramExtensions;
use crate::cli::{environment, exit, output};
use crate::embedded::{
    ControlSocket, EmbeddedNode, EmbeddedNodeError, OperatorMessages, StoreAddress, read_state,
};

/// How long to wait for threads at exit. A thread that waits for a hanging guard never returns.
pub(super) const RUNTIME_WITHIN: Duration = Duration::from_millis(500);

/// Options of a controller.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ServeOptions {
    /// The listen address.
    pub(crate) listen: SocketAddr,
    /// The announced URL; without it, the listen address.
    pub(crate) advertise: Option<ControllerAddress>,
    /// The TLS files, if it serves TLS.
    pub(crate) tls: Option<TlsPaths>,
    /// Additional host names.
    pub(crate) hosts: Vec<String>,
    /// Requests per second of one token or address.
    pub(crate) rate: u32,
    /// The address of its stores.
    pub(crate) store: StoreAddress,
    /// The folder of files of steps, if it is not in the folder of its stores.
    pub(crate) objects: Option<PathBuf>,
    /// The observed cluster, if it is a read-only replica.
    pub(crate) observe: Option<Arc<UpstreamCluster>>,
    /// The folder of its own files.
    pub(crate) state: PathBuf,
    /// Its name.
    pub(crate) name: String,
    /// The behaviour while another controller leads the same stores.
    pub(crate) stand_by: StandbyPolicy,
    /// The duration of its term without a renewal, where others can lead.
    pub(crate) term: Span,
    /// Whether to lead a folder that has lost acknowledged events.
    pub(crate) accept_lost_history: bool,
    /// The CA bundle for other controllers.
    pub(crate) ca: Option<PathBuf>,
    /// The lease duration.
    pub(crate) ttl: Span,
    /// The steps that it runs itself.
    pub(crate) own_worker_scope: WorkerScope,
    /// Whether it requires no token on a loopback address.
    pub(crate) no_token: bool,
    /// The file of tokens that are in no store.
    pub(crate) token_file: Option<PathBuf>,
    /// Concurrent steps.
    pub(crate) slots: u32,
    /// Advertised labels.
    pub(crate) labels: Labels,
    /// The folder in which its steps run.
    pub(crate) root: PathBuf,
    /// The address of metrics without a token.
    pub(crate) metrics: Option<SocketAddr>,
    /// The collector of spans.
    pub(crate) collector: Option<TraceCollector>,
    /// The mailboxes for workers.
    pub(crate) mail: Vec<MailboxEndpoint>,
    /// The environment policy of its own steps.
    pub(crate) policy: EnvironmentPolicy,
    /// The functions, hooks and probes compiled into this program.
    pub(crate) compiled: ProgramExtensions,
}

/// Logs warnings about a store.
pub(super) fn log_warnings(warnings: &[String]) {
    for warning in warnings {
        warn!("warning: {warning}");
    }
}

/// Logs the operator messages of a node or its worker.
pub(super) fn log_operator_messages() -> OperatorMessages {
    OperatorMessages::with(|what| warn!("{what}"))
}

impl ServeOptions {
    /// The folder in which local commands find it.
    pub(super) fn home(&self) -> &Path {
        self.store.folder().unwrap_or(&self.state)
    }

    /// The URL scheme of the listener.
    const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// Serves until it is stopped.
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
        let what = "stopping: steps that run here finish first; a second signal kills them";
        info!("{what}");
        controller.end(&mut ends).await
    });
    runtime.shutdown_timeout(RUNTIME_WITHIN);
    ended
}

/// Raises the descriptor limit: every connection needs one, and many systems set a soft limit of 1,024. Runs after
/// the guard has started, so that steps keep the original limit.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // If it fails, connections reach the limit sooner and wait.
    let _ = setrlimit(Resource::Nofile, raised);
}

pub(super) fn no_signals(error: &std::io::Error) -> CliError {
    CliError::unreachable(format!("cannot listen for signals: {error}"))
}

/// A running controller.
#[derive(Debug)]
pub(super) struct ControllerDaemon {
    node: EmbeddedNode,
    /// Its own worker.
    worker: ControllerWorker,
    /// The listen URL.
    url: String,
    advertise: String,
    cluster: String,
    /// Fired first: no new requests may be directed here.
    ending: ShutdownSender,
    /// Fired last, after the remaining work has ended.
    servers: ShutdownSender,
    tasks: Vec<JoinHandle<()>>,
}

/// Refuses a replica that every host could read: it has tokens only after its leader sent them.
fn refuse_open_replica(order: &ServeOptions, setup: &NodeSetup) -> Result<(), CliError> {
    let is_open = order.observe.is_some()
        && !order.listen.ip().is_loopback()
        && !requires_token(order, &setup.node);
    if is_open { Err(open_access_error(order)) } else { Ok(()) }
}

impl ControllerDaemon {
    /// Opens the store and starts all services.
    pub(super) async fn start(order: &ServeOptions) -> Result<Self, CliError> {
        let waits = |what| warn!("{what}");
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
        let listener = ControllerListener::new(listener, order)?;
        let url = format!("{}://{address}", order.scheme());
        let advertise = order.advertise.as_ref().map_or_else(|| url.clone(), ToString::to_string);
        let mut setup = NodeSetup::open(order, &advertise).await?;
        refuse_open_replica(order, &setup)?;
        let about =
            ControllerIdentity { cluster: setup.cluster.clone(), advertise: advertise.clone() };
        let (servers, ends) = ShutdownSender::new();
        let (ending, ends_soon) = ShutdownSender::new();
        let api = setup
            .api(about.clone())
            .with_tokens(tokens.clone())
            .with_allowed_hosts(hosts(order, address))
            .with_shutdown(ends_soon);
        let api = api.with_rate_limit(BucketRate { per_second: order.rate, burst: 2 * order.rate });
        let api = api.with_refusal_log(|what| warn!("{what}"));
        let server = HttpServer::new(listener, router(Arc::new(api)));
        let mut tasks = observers(order, &setup, about.clone(), &ends).await?;
        tasks.push(tokio::spawn(server.run(ends.clone())));
        if let Some(file) = order.token_file.clone() {
            tasks.push(tokio::spawn(TokenFileWatcher { file, tokens }.run(ends.clone())));
        }
        for service in setup.mailbox_services(order, &about) {
            tasks.push(tokio::spawn(service.run(ends.clone())));
        }
        // For commands in its folder. Others use its address.
        if let Ok(socket) = ControlSocket::bind(order.home(), setup.api(about)) {
            tasks.push(tokio::spawn(socket.run(ends)));
        }
        let worker = setup.start_worker(order).await?;
        let NodeSetup { node, cluster, .. } = setup;
        Ok(Self { node, worker, url, advertise, cluster, ending, servers, tasks })
    }

    /// The listen URL.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn log_startup(&self, order: &ServeOptions) {
        let what = match order.own_worker_scope {
            _ if order.slots == 0 => "no steps run here".to_owned(),
            WorkerScope::AllRuns | WorkerScope::OwnRuns => {
                format!("{} steps at a time also run here", order.slots)
            }
            WorkerScope::PinnedOnly => "only steps pinned to the leader run here".to_owned(),
        };
        if let Some(upstream) = &order.observe {
            return output::log_banner(&format!(
                "windlass {} is a read-only replica of cluster {} at {}, on {}\nit runs no steps and stores no runs",
                env!("CARGO_PKG_VERSION"),
                self.cluster,
                upstream.address(),
                self.url,
            ));
        }
        let token = if requires_token(order, &self.node) { " --token-file FILE" } else { "" };
        let leads = match &order.store {
            StoreAddress::Folder(_) => "leads",
            StoreAddress::Postgres { .. } => "leads or stands by for",
        };
        output::log_banner(&format!(
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

    /// Waits until the node fails; forever if it does not.
    pub(super) async fn wait_for_failure(&mut self) -> CliError {
        self.node.wait_for_failure().await.into()
    }

    /// Ends the controller: its own steps finish first, unless a second signal arrives.
    pub(super) async fn end(self, ends: &mut ShutdownSignals) -> Result<u8, CliError> {
        let Self { node, worker, ending, servers, tasks, .. } = self;
        ending.shut_down();
        let unsent = match &worker {
            ControllerWorker::Separate(own) => Some(own.unsent()),
            ControllerWorker::Embedded { .. } | ControllerWorker::None => None,
        };
        let finish = async {
            match worker {
                // A standby can take over at once: outcomes of these steps go to the new leader.
                ControllerWorker::Separate(own) => {
                    own.end(|| node.retire()).await;
                }
                ControllerWorker::None => node.retire(),
                ControllerWorker::Embedded { .. } => {}
            }
            node.shut_down().await
        };
        let ended = tokio::select! {
            ended = finish => ended.map_err(Into::into),
            () = ends.next() => {
                if let Some(unsent) = unsent {
                    unsent.log_if_any();
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

/// The tasks that report events: log, metrics and spans.
async fn observers(
    order: &ServeOptions,
    setup: &NodeSetup,
    about: ControllerIdentity,
    ends: &ShutdownReceiver,
) -> Result<Vec<JoinHandle<()>>, CliError> {
    let handle = setup.node.handle();
    let (views, journal) = (Arc::clone(handle.views()), Arc::clone(&setup.stores.journal));
    let chronicle = EventLogger::new(views, journal, setup.company());
    let mut tasks = vec![tokio::spawn(chronicle.run(ends.clone()))];
    if let Some(address) = order.metrics {
        let listener = listen(address).await?;
        let api = setup.api(about).with_allowed_hosts(AllowedHosts::listening_on(address));
        let server = HttpServer::new(listener, metrics_router(Arc::new(api)));
        tasks.push(tokio::spawn(server.run(ends.clone())));
    }
    if let Some(collector) = order.collector.clone() {
        let traces = RunTracer::new(handle, &setup.stores.journal, collector);
        tasks.push(tokio::spawn(traces.run(ends.clone())));
    }
    Ok(tasks)
}

/// The accepted host names: the listen address, the name of the machine, and configured ones.
fn hosts(order: &ServeOptions, address: SocketAddr) -> AllowedHosts {
    let hosts = order
        .hosts
        .iter()
        .fold(AllowedHosts::listening_on(address), |known, it| known.with_host(it));
    let hosts = hosts.with_host(&environment::host_name());
    match &order.advertise {
        Some(at) => hosts.advertised_as(at),
        None => hosts,
    }
}

/// Whether requests need a token.
fn requires_token(order: &ServeOptions, node: &EmbeddedNode) -> bool {
    let in_store = || node.handle().views().with(|view| view.engine.keys().requires_token());
    order.token_file.is_some() || in_store()
}

/// Refuses to listen without tokens beyond loopback: any host could run commands on the workers.
async fn refuse_open_access(order: &ServeOptions) -> Result<(), CliError> {
    let secure = order.advertise.as_ref().is_none_or(ControllerAddress::is_secure);
    if order.tls.is_some() && !secure {
        let what = "this controller serves TLS, and --advertise starts with http://";
        return Err(CliError::usage(what).hint("write the URL with https://"));
    }
    // A replica reads the tokens from its upstream later.
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
    let what = format!("{} is reachable from other machines, and no token exists", order.listen);
    CliError::usage(what).hint(
        "create one first: `windlass token create --scope admin > token`, then use it with --token-file token; create others for workers with --scope worker",
    )
}

async fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).await.map_err(|error| address_in_use_error(address, &error))
}

fn address_in_use_error(address: SocketAddr, error: &std::io::Error) -> CliError {
    let error = CliError::unreachable(format!("cannot listen on {address}: {error}"));
    error.hint("another process may use the port: choose another with --listen 127.0.0.1:PORT")
}
