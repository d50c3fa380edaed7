//! `windlass serve`

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_controller::StandbyPolicy;
use windlass_controller::replica::UpstreamCluster;
use windlass_controller::traces::TraceCollector;
use windlass_core::engine::LEASE_TTL_MAX;
use windlass_core::requirement::WorkerScope;
use windlass_core::spec::parse_duration;
use windlass_core::time::Span;
use windlass_link::mailbox::{MailboxAddress, MailboxKey};
use windlass_net::http::{ControllerAddress, ControllerAddressError, ControllerAddresses, dialer};

use crate::cli::bounded_number::number;
use crate::cli::context::CommandContext;
use crate::cli::daemon::{MailboxEndpoint, ServeOptions, TlsPaths};
use crate::cli::environment_args::EnvironmentArgs;
use crate::cli::error::CliError;
use crate::cli::local_run_args::{cores, label, with_labels};
use crate::cli::logging::LoggingArgs;
use crate::cli::project::{STORE, store_address};
use crate::cli::settings::ConfigFileArgs;
use crate::cli::{daemon, environment, otlp};
use crate::embedded::StoreAddress;

/// Lead a cluster: store its runs and dispatch steps to workers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The controller also runs steps itself; with `--no-exec`, only those that are pinned to the leader.
Workers join with `windlass worker --join`. Several controllers can share a database: one leads, the
others stand by and take over. The first Ctrl-C or SIGTERM lets steps that run here finish, the
second kills them. Workers continue without the controller for a while and reconnect.

Examples:
  windlass serve
  windlass serve --listen 0.0.0.0:7700 --token-file token --advertise http://build.example:7700
  windlass serve --listen 0.0.0.0:7700 --token-file token --tls-cert tls.pem --tls-key tls.key
  windlass serve --store postgres://windlass@db.example/windlass --listen 0.0.0.0:7700 \\
    --token-file token --advertise http://a.example:7700")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    _file: ConfigFileArgs,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = address)]
    listen: SocketAddr,
    /// Announce this URL to workers and clients (default: the URL of the listen address)
    #[arg(long, value_name = "URL", value_parser = advertised)]
    advertise: Option<ControllerAddress>,
    /// Accept requests for this host name, in addition to the controller's own; others are refused
    #[arg(long, value_name = "HOST", value_parser = host)]
    allow_host: Vec<String>,
    /// Limit requests per second of each token or address; joined workers are exempt
    #[arg(long, value_name = "N", default_value_t = RATE, value_parser = number(1..=1_000_000))]
    rate_limit: u32,
    /// Keep runs in this folder, or in a database that controllers share, `postgres://…` (default: .windlass)
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Keep files of steps in this folder, which all controllers of a database must share (default: `objects` in the
    /// folder of runs; none with a database)
    #[arg(long, value_name = "FOLDER")]
    objects: Option<PathBuf>,
    /// Run as a read-only replica of this controller, or of the leader among several separated by commas; needs no
    /// store
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "objects", "role"])]
    observe: Option<ControllerAddresses>,
    /// Read the token for the observed controller from this file
    #[arg(long, value_name = "FILE", requires = "observe")]
    observe_token_file: Option<PathBuf>,
    /// Keep this controller's own files in this folder (default: the folder of runs, or .windlass)
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Name this controller (default: the host name)
    #[arg(long, value_name = "NAME", value_parser = super::worker::name)]
    name: Option<String>,
    /// Choose the behaviour while another controller leads the same database: stand by (auto) or exit (leader)
    /// (default: auto)
    #[arg(long, value_name = "ROLE")]
    role: Option<ServeRole>,
    /// Set the leader lease duration; the lease is renewed four times per duration (default: 6s)
    #[arg(long, value_name = "DURATION", value_parser = term)]
    term: Option<Span>,
    /// Keep a step assigned to a worker that has lost contact for this long, such as 15s
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    lease_ttl: Span,
    /// Start although the store in a folder has lost acknowledged events; locks wait 10m for lost leases to expire
    #[arg(long)]
    accept_lost_history: bool,
    /// Run only steps that are pinned to the leader
    #[arg(long)]
    no_exec: bool,
    /// Serve metrics without a token on a separate loopback address such as 127.0.0.1:7701
    #[arg(long, value_name = "ADDRESS", value_parser = loopback)]
    metrics_listen: Option<SocketAddr>,
    /// Send spans of all runs to this OpenTelemetry collector (OTLP over HTTP)
    #[arg(long, value_name = "URL", value_parser = otlp::named)]
    otlp: Option<TraceCollector>,
    /// Accept workers through a message broker such as Redis, `redis://HOST`, if they cannot reach this controller
    #[arg(long, value_name = "URL")]
    link: Vec<String>,
    /// Read a token with all scopes from this file, in addition to those of `windlass token create`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Serve TLS with the certificate in this PEM file, followed by its intermediate certificates
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Read the private key of the certificate from this file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Trust other controllers by this CA bundle in PEM format (default: public root certificates)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Run at most this many steps at a time here; 0 runs none (default: the number of cores)
    #[arg(short, long, value_name = "N", value_parser = number(0..=10_000))]
    jobs: Option<u32>,
    /// Advertise an additional label of this machine; can be repeated
    #[arg(long, value_name = "LABEL", value_parser = label)]
    label: Vec<String>,
    /// Require no token on a loopback address: every user of this machine can run commands here
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Far more than a client needs, and a small load for a controller.
pub(super) const RATE: u32 = 1_000;

/// The pause of a busy machine loses a shorter lease; a longer one could outlast the time that locks are withheld
/// after lost history.
const LEASES: (Span, Span) = (Span::secs(2), LEASE_TTL_MAX);

pub(in crate::cli) fn lease(text: &str) -> Result<Span, String> {
    within(text, LEASES, "it must be from 2s to 10m: locks are withheld for 10m after lost history")
}

/// The pause of a busy database loses a shorter term; after a longer one a cluster is without a leader for minutes.
const TERMS: (Span, Span) = (Span::secs(1), Span::mins(5));

/// Outlasts a restart of the database, and keeps the takeover short.
const TERM: Span = Span::secs(6);

fn term(text: &str) -> Result<Span, String> {
    within(text, TERMS, "it must be from 1s to 5m")
}

pub(in crate::cli) fn within(
    text: &str,
    (least, most): (Span, Span),
    otherwise: &str,
) -> Result<Span, String> {
    let span = parse_duration(text).map_err(|_| "write it like 15s or 2m".to_owned())?;
    if (least..=most).contains(&span) { Ok(span) } else { Err(otherwise.to_owned()) }
}

/// The behaviour of a controller while another one leads.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ServeRole {
    Auto,
    Leader,
}

impl From<ServeRole> for StandbyPolicy {
    fn from(role: ServeRole) -> Self {
        match role {
            ServeRole::Auto => Self::Wait,
            ServeRole::Leader => Self::Refuse,
        }
    }
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found =
        text.to_socket_addrs().map_err(|_| "write it like 127.0.0.1:7700".to_owned())?;
    found.next().ok_or_else(|| "the host has no address".to_owned())
}

/// The address is announced to others, so they must be able to use it as it is.
fn advertised(text: &str) -> Result<ControllerAddress, String> {
    if !text.contains("://") {
        return Err("write it like http://build.example:7700".to_owned());
    }
    let at: ControllerAddress =
        text.parse().map_err(|error: ControllerAddressError| error.to_string())?;
    let address = at.host().trim_matches(['[', ']']).parse::<IpAddr>();
    if address.is_ok_and(|address| address.is_unspecified()) {
        return Err("it is a wildcard address: name a host, or one of its addresses".to_owned());
    }
    Ok(at)
}

/// Parses a host name or an address without a port.
fn host(text: &str) -> Result<String, String> {
    match text.parse::<ControllerAddress>() {
        Ok(address) if address.host() == text => Ok(text.to_owned()),
        _ => Err("write it like build.example, without a port".to_owned()),
    }
}

/// Parses an address that only this machine can reach.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = address(text)?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("it requires no token, so it must be a loopback address: other machines read /metrics of --listen".to_owned())
}

fn tls_paths((certificate, key): (PathBuf, PathBuf)) -> TlsPaths {
    TlsPaths { certificate, key }
}

/// The store and the controller's own folder; one folder can be both.
fn places(args: &ServeArgs, context: &CommandContext) -> Result<(StoreAddress, PathBuf), CliError> {
    let here = context.folder.join(STORE);
    let store = args.store.as_deref().map(store_address).transpose()?;
    let store = store.unwrap_or_else(|| StoreAddress::Folder(here.clone()));
    refuse_turns(args, &store)?;
    let beside = store.folder().map_or(here, Path::to_owned);
    Ok((store, args.state.clone().unwrap_or(beside)))
}

/// Refuses election options for a folder: only a database has several controllers.
fn refuse_turns(args: &ServeArgs, store: &StoreAddress) -> Result<(), CliError> {
    let asked = args.role.map(|_| "--role").or(args.term.map(|_| "--term"));
    let (Some(flag), Some(folder)) = (asked, store.folder()) else { return Ok(()) };
    let folder = folder.display();
    let what = format!(
        "{flag} applies to controllers that share a database; {folder} is a folder, which one controller leads"
    );
    Err(CliError::usage(what)
        .hint(format!("name a database with --store postgres://…, or leave {flag} out")))
}

/// The controllers that a replica observes.
fn upstream(
    args: &ServeArgs,
    context: &CommandContext,
) -> Result<Option<Arc<UpstreamCluster>>, CliError> {
    let Some(places) = args.observe.clone() else { return Ok(None) };
    let file = |file: &PathBuf| context.folder.join(file);
    let token = args.observe_token_file.as_ref().map(file);
    let token = token.map(|file| daemon::read_token(&file)).transpose()?;
    let ca = args.ca.as_ref().map(file);
    let dial = dialer(ca.as_deref()).map_err(CliError::usage)?;
    Ok(Some(Arc::new(UpstreamCluster::new(places, dial, token))))
}

/// Serves until it is stopped.
pub(crate) fn run(args: &ServeArgs, context: &CommandContext) -> Result<u8, CliError> {
    args.log.install();
    let (store, state) = places(args, context)?;
    let observe = upstream(args, context)?;
    let mail = mail(args, &store, context)?;
    daemon::serve(&ServeOptions {
        listen: args.listen,
        advertise: args.advertise.clone(),
        tls: args.tls_cert.clone().zip(args.tls_key.clone()).map(tls_paths),
        hosts: args.allow_host.clone(),
        rate: args.rate_limit,
        store,
        objects: args.objects.as_ref().map(|folder| context.folder.join(folder)),
        state,
        name: args.name.clone().unwrap_or_else(environment::host_name),
        stand_by: if observe.is_some() {
            StandbyPolicy::Wait
        } else {
            args.role.map_or(StandbyPolicy::Wait, Into::into)
        },
        term: args.term.unwrap_or(TERM),
        accept_lost_history: args.accept_lost_history,
        ca: args.ca.as_ref().map(|file| context.folder.join(file)),
        ttl: args.lease_ttl,
        own_worker_scope: if args.no_exec { WorkerScope::PinnedOnly } else { WorkerScope::AllRuns },
        no_token: args.no_token,
        token_file: args.token_file.clone(),
        slots: if observe.is_some() { 0 } else { args.jobs.unwrap_or_else(cores) },
        observe,
        labels: context.compiled.labels(&with_labels(&args.label)),
        policy: args.environment.policy(),
        compiled: context.compiled.clone(),
        root: context.folder.clone(),
        metrics: args.metrics_listen,
        collector: otlp::collector(args.otlp.as_ref()),
        mail,
    })
}

/// The mailboxes for workers: those of `--link`, and those in a shared database.
fn mail(
    args: &ServeArgs,
    store: &StoreAddress,
    context: &CommandContext,
) -> Result<Vec<MailboxEndpoint>, CliError> {
    let own = match store {
        StoreAddress::Folder(_) => None,
        StoreAddress::Postgres { url, .. } => Some(url),
    };
    let mut urls: Vec<&String> = args.link.iter().chain(own).collect();
    urls.dedup();
    let endpoint = |url: &String| {
        let ca = args.ca.as_ref().map(|file| context.folder.join(file));
        let site = MailboxAddress { url: url.clone(), run: MailboxAddress::CLUSTER.to_owned(), ca };
        let opened = context.links.open(&site);
        let mailboxes = opened.map_err(|error| CliError::usage(error.to_string()))?;
        let key = MailboxKey::new(&site.run, environment::run_secret().as_deref());
        Ok(MailboxEndpoint { mailboxes, key })
    };
    urls.into_iter().map(endpoint).collect()
}
