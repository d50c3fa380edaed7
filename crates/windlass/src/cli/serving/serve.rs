//! `windlass serve`: leads a store, answers its API, and runs steps itself.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::rate::Rate;
use windlass_core::requirement::Labels;
use windlass_core::time::Span;

use super::chronicle::Chronicle;
use super::doors::{Doors, TlsPaths};
use super::ends::Ends;
use super::mail::MailPlace;
use super::reaching::reach;
use super::seat::{Hands, Seat};
use super::token::{self, Rereading};
use crate::cli::compiled::Compiled;
use crate::cli::error::CliError;
use crate::cli::output::{Level, Logger};
use crate::cli::{environment, exit};
use crate::controller::StandBy;
use crate::controller::api::{About, FileTokens, Hosts, Server, metrics_router, router};
use crate::controller::observing::Upstream;
use crate::controller::traces::{Collector, Traces};
use crate::link::http::Place;
use crate::local::{Socket, Station, StationError, StoreAddress, Tell, peek};
use crate::shutdown::{Shutdown, ShutdownSender};

/// How long threads are waited for when everything has ended. One that waits for a guard that hangs never returns.
pub(super) const RUNTIME_WITHIN: Duration = Duration::from_millis(500);

/// The label of a worker that runs nothing but what is pinned to the leader.
const PINNED_ONLY: &str = "pinned-only";

/// A controller to be.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
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
    /// Where its stores are.
    pub(crate) store: StoreAddress,
    /// Whom it observes, if it does nothing else.
    pub(crate) observe: Option<Arc<Upstream>>,
    /// The folder of what is its own.
    pub(crate) state: PathBuf,
    /// What it is called.
    pub(crate) name: String,
    /// What it does while another one leads the same stores.
    pub(crate) stand_by: StandBy,
    /// How long its term lasts unless it is renewed, where others can lead.
    pub(crate) term: Span,
    /// Whether a folder is led that has lost what it had acknowledged.
    pub(crate) accept_lost_history: bool,
    /// Who vouches for other controllers.
    pub(crate) ca: Option<PathBuf>,
    /// How long leases last.
    pub(crate) ttl: Span,
    /// What it runs itself.
    pub(crate) runs: Runs,
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
    pub(crate) collector: Option<Collector>,
    /// Where workers may leave letters.
    pub(crate) mail: Vec<MailPlace>,
    /// What its own steps inherit of its environment.
    pub(crate) policy: EnvironmentPolicy,
    /// What this program has beside windlass itself.
    pub(crate) compiled: Compiled,
    /// What says what goes on.
    pub(crate) log: Logger,
}

impl Serve {
    pub(super) fn warn(&self, warnings: &[String]) {
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
    /// The folder in which commands find it.
    pub(super) fn home(&self) -> &Path {
        self.store.folder().unwrap_or(&self.state)
    }

    /// What its own worker advertises.
    pub(super) fn own_labels(&self) -> Labels {
        let more = (self.runs == Runs::PinnedOnly).then_some(PINNED_ONLY);
        Labels::new(self.labels.iter().chain(more))
    }

    /// What operators are told while its own worker waits.
    pub(super) fn tell(&self) -> Tell {
        let log = self.log;
        Tell::with(move |what| log.note(Level::Warn, what))
    }

    /// What is spoken where it listens.
    const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// Serves until it is told to end.
pub(crate) fn serve(order: &Serve) -> Result<u8, CliError> {
    let runtime = crate::cli::reading::runtime()?;
    let ended = runtime.block_on(async {
        let mut ends = Ends::listen().map_err(|error| no_signals(&error))?;
        let mut controller = tokio::select! {
            started = Controller::start(order) => started?,
            () = ends.next() => return Ok(exit::SUCCESS),
        };
        controller.say_hello(order);
        raise_descriptors();
        tokio::select! {
            () = ends.next() => {}
            failed = controller.fails() => return Err(failed),
        }
        let what = "ending: steps that run here are finished first; once more ends them now";
        order.log.note(Level::Info, what);
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
pub(super) struct Controller {
    station: Station,
    /// Its own worker.
    hands: Hands,
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

impl Controller {
    /// Leads the store and answers.
    pub(super) async fn start(order: &Serve) -> Result<Self, CliError> {
        let waits = |what| order.log.note(Level::Warn, what);
        reach(&order.store, waits).await.map_err(StationError::from)?;
        refuse_open_doors(order).await?;
        let tokens = order.token_file.as_deref().map(token::read_all).transpose()?;
        let listener = listen(order.listen).await?;
        let address = listener.local_addr().map_err(|error| taken(order.listen, &error))?;
        let tokens = match tokens {
            Some(tokens) => tokens,
            None => token::of_loopback(order, address).await?,
        };
        let tokens = FileTokens::new(&tokens);
        let doors = Doors::new(listener, order)?;
        let url = format!("{}://{address}", order.scheme());
        let advertise = order.advertise.as_ref().map_or_else(|| url.clone(), ToString::to_string);
        let mut seat = Seat::take(order, &advertise).await?;
        if order.observe.is_some()
            && !order.listen.ip().is_loopback()
            && !asks(order, &seat.station)
        {
            return Err(open_doors(order));
        }
        let about = About { cluster: seat.cluster.clone(), advertise: advertise.clone() };
        let (servers, ends) = ShutdownSender::new();
        let (ending, ends_soon) = ShutdownSender::new();
        let api = seat.api(about.clone());
        let api = api.with_tokens(tokens.clone()).known_as(hosts(order, address)).until(ends_soon);
        let api = api.at_rate(Rate { each_second: order.rate, at_once: 2 * order.rate });
        let log = order.log;
        let api = api.telling_refusals(move |what| log.note(Level::Warn, what));
        let server = Server::new(doors, router(Arc::new(api)));
        let mut tasks = observers(order, &seat, about.clone(), &ends).await?;
        tasks.push(tokio::spawn(server.run(ends.clone())));
        if let Some(file) = order.token_file.clone() {
            tasks.push(tokio::spawn(Rereading { file, tokens, log: order.log }.run(ends.clone())));
        }
        for room in seat.mail_rooms(order, &about) {
            tasks.push(tokio::spawn(room.run(ends.clone())));
        }
        // For commands that are given in its folder. Others find it by its address.
        if let Ok(socket) = Socket::bind(order.home(), seat.api(about)) {
            tasks.push(tokio::spawn(socket.run(ends)));
        }
        let hands = seat.employ(order).await?;
        let Seat { station, cluster, .. } = seat;
        Ok(Self { station, hands, url, advertise, cluster, ending, servers, tasks })
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn say_hello(&self, order: &Serve) {
        let what = match order.runs {
            _ if order.slots == 0 => "no steps run here".to_owned(),
            Runs::Anything => format!("{} steps at a time run here too", order.slots),
            Runs::PinnedOnly => "only steps pinned to the leader run here".to_owned(),
        };
        if let Some(upstream) = &order.observe {
            return order.log.greet(&format!(
                "windlass {} observes cluster {} at {} on {}\nnothing runs and nothing is kept here; it answers who only wants to know",
                env!("CARGO_PKG_VERSION"),
                self.cluster,
                upstream.place(),
                self.url,
            ));
        }
        let token = if asks(order, &self.station) { " --token-file FILE" } else { "" };
        let leads = match &order.store {
            StoreAddress::Folder(_) => "leads",
            StoreAddress::Postgres { .. } => "leads or stands by for",
        };
        order.log.greet(&format!(
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
    pub(super) async fn fails(&mut self) -> CliError {
        self.station.fails().await.into()
    }

    /// Ends it: its own steps are finished first, unless it is told again.
    pub(super) async fn end(self, ends: &mut Ends) -> Result<u8, CliError> {
        let Self { station, hands, ending, servers, tasks, .. } = self;
        ending.shut_down();
        let unsent = match &hands {
            Hands::Apart(own) => Some(own.unsent()),
            Hands::Own { .. } | Hands::None => None,
        };
        let finish = async {
            match hands {
                // Others need not wait for what is finished here: its outcomes are told to who leads then.
                Hands::Apart(own) => {
                    own.end(|| station.retire()).await;
                }
                Hands::None => station.retire(),
                Hands::Own { .. } => {}
            }
            station.shut_down().await
        };
        let ended = tokio::select! {
            ended = finish => ended.map_err(Into::into),
            () = ends.next() => {
                if let Some((unsent, log)) = unsent {
                    unsent.tell(log);
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
    order: &Serve,
    seat: &Seat,
    about: About,
    ends: &Shutdown,
) -> Result<Vec<JoinHandle<()>>, CliError> {
    let handle = seat.station.handle();
    let chronicle = Chronicle::new(Arc::clone(handle.views()), order.log, seat.company());
    let mut tasks = vec![tokio::spawn(chronicle.run(ends.clone()))];
    if let Some(address) = order.metrics {
        let listener = listen(address).await?;
        let api = seat.api(about).known_as(Hosts::listening_on(address));
        let server = Server::new(listener, metrics_router(Arc::new(api)));
        tasks.push(tokio::spawn(server.run(ends.clone())));
    }
    if let Some(collector) = order.collector.clone() {
        let traces = Traces::new(handle, Arc::clone(&seat.stores.journal), collector);
        tasks.push(tokio::spawn(traces.run(ends.clone())));
    }
    Ok(tasks)
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
    // Of an observer it is known when it has read who may ask.
    let later = order.observe.is_some();
    if later || order.listen.ip().is_loopback() || order.token_file.is_some() {
        return Ok(());
    }
    let has_tokens = peek(&order.store, |engine| engine.keys().asks()).await;
    if has_tokens.map_err(StationError::from)? == Some(true) {
        return Ok(());
    }
    Err(open_doors(order))
}

fn open_doors(order: &Serve) -> CliError {
    let what = format!("{} can be reached from elsewhere, and there is no token", order.listen);
    CliError::usage(what).hint(
        "make one first: `windlass token create --scope admin > token`, to be shown with --token-file token; workers get one with --scope worker",
    )
}

async fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).await.map_err(|error| taken(address, &error))
}

fn taken(address: SocketAddr, error: &std::io::Error) -> CliError {
    let error = CliError::unreachable(format!("{address} cannot be listened on: {error}"));
    error.hint("another windlass may be there: choose another port with --listen 127.0.0.1:PORT")
}
