//! `windlass serve`

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::engine::LEASE_TTL_MAX;
use windlass_core::spec::parse_duration;
use windlass_core::time::Span;

use crate::cli::bounded_number::number;
use crate::cli::context::CommandContext;
use crate::cli::daemon::{self, MailboxEndpoint, OwnWorkerScope, ServeOptions, TlsPaths};
use crate::cli::environment_args::EnvironmentArgs;
use crate::cli::error::CliError;
use crate::cli::local_run_args::{cores, label, with_labels};
use crate::cli::logging::LoggingArgs;
use crate::cli::project::{STORE, store_address};
use crate::cli::settings::ConfigFileArgs;
use crate::cli::{environment, otlp};
use crate::controller::StandbyPolicy;
use crate::controller::replica::UpstreamCluster;
use crate::controller::traces::TraceCollector;
use crate::embedded::StoreAddress;
use crate::link::http::{ControllerAddress, ControllerAddressError, ControllerAddresses, dialer};
use crate::link::mailbox::{MailboxAddress, MailboxKey};

/// Lead a cluster: keep its runs, and hand their steps to workers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It runs steps itself, too, unless told not to; workers join with `windlass worker --join`. Several
controllers may share a database: one leads, the others stand by and take over. The
first Ctrl-C or SIGTERM lets steps that run here finish, the second one ends them. Workers go on
without it for a while and find it again.

Examples:
  windlass serve
  windlass serve --listen 0.0.0.0:7700 --token-file token --advertise http://build.example:7700
  windlass serve --listen 0.0.0.0:7700 --token-file token --tls-cert tls.pem --tls-key tls.key
  windlass serve --store postgres://windlass@db.example/windlass --listen 0.0.0.0:7700 \\
    --token-file token --advertise http://a.example:7700")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    _file: ConfigFileArgs,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = address)]
    listen: SocketAddr,
    /// Where workers and clients reach it, if that is not where it listens
    #[arg(long, value_name = "URL", value_parser = advertised)]
    advertise: Option<ControllerAddress>,
    /// Answer to this name too: requests that call it by another than its own are refused
    #[arg(long, value_name = "HOST", value_parser = host)]
    allow_host: Vec<String>,
    /// Take so many requests a second of one token or address; workers that have joined are not counted
    #[arg(long, value_name = "N", default_value_t = RATE, value_parser = number(1..=1_000_000))]
    rate_limit: u32,
    /// Where to keep runs: a folder, or a database that controllers share, `postgres://…`; `.windlass` if not said
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Only answer who wants to know, from what this controller tells, or whoever leads of several with commas between; no
    /// store is needed
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "role"])]
    observe: Option<ControllerAddresses>,
    /// A file with the token that is shown there
    #[arg(long, value_name = "FILE", requires = "observe")]
    observe_token_file: Option<PathBuf>,
    /// What this controller keeps for itself; in the folder of runs, or in `.windlass`, if not said
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// What it is called; like its machine if not said
    #[arg(long, value_name = "NAME", value_parser = super::worker::name)]
    name: Option<String>,
    /// While another controller leads the same database: stand by (auto, if not said), or end (leader)
    #[arg(long, value_name = "ROLE")]
    role: Option<ServeRole>,
    /// How long a database is led without a word of who leads it, 6s if not said; it gives word four times in it
    #[arg(long, value_name = "DURATION", value_parser = term)]
    term: Option<Span>,
    /// How long a step belongs to a worker that is not heard, such as 15s
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    lease_ttl: Span,
    /// Start on a store in a folder that has lost what it had acknowledged; locks wait 10m for lost leases to end
    #[arg(long)]
    accept_lost_history: bool,
    /// Run nothing here but steps pinned to the leader
    #[arg(long)]
    no_exec: bool,
    /// Show metrics to everybody on this machine, at an address of their own such as 127.0.0.1:7701
    #[arg(long, value_name = "ADDRESS", value_parser = loopback)]
    metrics_listen: Option<SocketAddr>,
    /// Send spans of all runs to a collector of OpenTelemetry, at its address for OTLP over HTTP
    #[arg(long, value_name = "URL", value_parser = otlp::named)]
    otlp: Option<TraceCollector>,
    /// Let workers that cannot reach it join by letters, at a place that both reach, such as `redis://HOST`
    #[arg(long, value_name = "URL")]
    link: Vec<String>,
    /// A file with a token that opens everything, beside those that `windlass token create` makes
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Speak TLS: a file with the certificate, and those between it and one that clients know
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The file with its private key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A file with the certificates of who vouches for other controllers; else whom browsers believe
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Steps at a time here, none with 0; as many as there are cores if not said
    #[arg(short, long, value_name = "N", value_parser = number(0..=10_000))]
    jobs: Option<u32>,
    /// Advertise one more label
    #[arg(long, value_name = "LABEL", value_parser = label)]
    label: Vec<String>,
    /// Ask for no token on a loopback address: every user of this machine can run commands here
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Far more than anybody needs who reads what he asked for, and little for a controller.
pub(super) const RATE: u32 = 1_000;

/// A lease that is shorter than this is lost by the pause of a busy machine; one that is longer might outlast what locks
/// wait for after lost history.
const LEASES: (Span, Span) = (Span::secs(2), LEASE_TTL_MAX);

pub(in crate::cli) fn lease(text: &str) -> Result<Span, String> {
    within(text, LEASES, "it lasts from 2s to 10m: locks wait that long after lost history")
}

/// A term that is shorter is lost by the pause of a busy database; after one that is longer a cluster stands still for
/// minutes.
const TERMS: (Span, Span) = (Span::secs(1), Span::mins(5));

/// Longer than a database is away that is restarted, shorter than anybody waits for a cluster.
const TERM: Span = Span::secs(6);

fn term(text: &str) -> Result<Span, String> {
    within(text, TERMS, "it lasts from 1s to 5m")
}

pub(in crate::cli) fn within(
    text: &str,
    (least, most): (Span, Span),
    otherwise: &str,
) -> Result<Span, String> {
    let span = parse_duration(text).map_err(|_| "write it like 15s or 2m".to_owned())?;
    if (least..=most).contains(&span) { Ok(span) } else { Err(otherwise.to_owned()) }
}

/// What a controller does while another one leads.
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
    found.next().ok_or_else(|| "it has no address".to_owned())
}

/// Others are told to go there: it has to be an address that they can use as it is.
fn advertised(text: &str) -> Result<ControllerAddress, String> {
    if !text.contains("://") {
        return Err("write it like http://build.example:7700".to_owned());
    }
    let place: ControllerAddress =
        text.parse().map_err(|error: ControllerAddressError| error.to_string())?;
    let address = place.host().trim_matches(['[', ']']).parse::<IpAddr>();
    if address.is_ok_and(|address| address.is_unspecified()) {
        return Err("nobody can be reached there: name a host, or one of its addresses".to_owned());
    }
    Ok(place)
}

/// A name or an address, and nothing around it.
fn host(text: &str) -> Result<String, String> {
    match text.parse::<ControllerAddress>() {
        Ok(place) if place.host() == text => Ok(text.to_owned()),
        _ => Err("write it like build.example, without a port".to_owned()),
    }
}

/// An address that only this machine reaches.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = address(text)?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("it asks for no token, so it has to be a loopback address: others read /metrics of --listen".to_owned())
}

fn tls_paths((certificate, key): (PathBuf, PathBuf)) -> TlsPaths {
    TlsPaths { certificate, key }
}

/// Where runs are, and where this controller keeps what is its own: a folder may have both.
fn places(args: &ServeArgs, context: &CommandContext) -> Result<(StoreAddress, PathBuf), CliError> {
    let here = context.folder.join(STORE);
    let store = args.store.as_deref().map(store_address).transpose()?;
    let store = store.unwrap_or_else(|| StoreAddress::Folder(here.clone()));
    refuse_turns(args, &store)?;
    let beside = store.folder().map_or(here, Path::to_owned);
    Ok((store, args.state.clone().unwrap_or(beside)))
}

/// Controllers take turns in a database only: who asks for that and names a folder would wait for the others in vain.
fn refuse_turns(args: &ServeArgs, store: &StoreAddress) -> Result<(), CliError> {
    let asked = args.role.map(|_| "--role").or(args.term.map(|_| "--term"));
    let (Some(flag), Some(folder)) = (asked, store.folder()) else { return Ok(()) };
    let folder = folder.display();
    let what = format!(
        "{flag} is for controllers that take turns in a database; {folder} is a folder, which one controller leads"
    );
    Err(CliError::usage(what)
        .hint(format!("name the database with --store postgres://…, or leave {flag} out")))
}

/// Whom it observes.
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

/// Serves until it is told to end.
pub(crate) fn run(args: &ServeArgs, context: &CommandContext) -> Result<u8, CliError> {
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
        own_worker_scope: if args.no_exec {
            OwnWorkerScope::PinnedOnly
        } else {
            OwnWorkerScope::Anything
        },
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
        log: args.log.logger(),
    })
}

/// Where workers may leave letters: at the places that it was told, and in a database that it shares with others.
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
    let place = |url: &String| {
        let ca = args.ca.as_ref().map(|file| context.folder.join(file));
        let site = MailboxAddress { url: url.clone(), run: MailboxAddress::CLUSTER.to_owned(), ca };
        let opened = context.links.open(&site);
        let mailboxes = opened.map_err(|error| CliError::usage(error.to_string()))?;
        let key = MailboxKey::new(&site.run, environment::run_secret().as_deref());
        Ok(MailboxEndpoint { mailboxes, key })
    };
    urls.into_iter().map(place).collect()
}
