//! `windlass worker`

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::time::Span;
use windlass_link::mailbox::{MailboxAddress, MailboxKey};
use windlass_net::http::{ControllerAddress, ControllerAddressError};

use super::serve::within;
use super::{worker_drain, worker_revoke};
use crate::cli::bounded_number::number;
use crate::cli::context::CommandContext;
use crate::cli::daemon::{JoinTarget, WorkerDaemonOptions};
use crate::cli::environment_args::EnvironmentArgs;
use crate::cli::error::CliError;
use crate::cli::local_run_args::{cores, label, with_labels};
use crate::cli::logging::LoggingArgs;
use crate::cli::project::STORE;
use crate::cli::settings::ConfigFileArgs;
use crate::cli::{daemon, environment};

/// Join a cluster and run its steps
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
Steps run in the current directory, or in a copy of the files that were sent with the run. The worker opens no port. The first Ctrl-C or SIGTERM lets steps
finish and takes no new ones, the second kills them and returns them to the leader. Output that no
controller has received stays in the state directory; the next start with that directory sends it.

Examples:
  windlass worker --join http://build.example:7700
  windlass worker --join http://a:7700 --join http://b:7700 --slots 4 --label gpu")]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    command: Option<WorkerCommand>,
    #[command(flatten)]
    _file: ConfigFileArgs,
    /// Join the cluster of this controller, or through a message broker such as `redis://HOST`; separate several
    /// controllers of the cluster by commas, or repeat the flag
    #[arg(long, value_name = "URL", required = true, value_delimiter = ',', value_parser = join_address)]
    join: Vec<String>,
    /// Run at most this many steps at a time (default: the number of cores)
    #[arg(long, value_name = "N", value_parser = number(1..=10_000))]
    slots: Option<u32>,
    /// Advertise an additional label of this machine; can be repeated
    #[arg(long, value_name = "LABEL", value_parser = label)]
    label: Vec<String>,
    /// Name this worker (default: the host name, with `-worker` if a controller runs on the same host)
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Read the cluster's token from this file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Trust controllers by this CA bundle in PEM format (default: `WINDLASS_CA`, or public root certificates)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Exit if no controller responds for this long, such as 60s (default: wait forever)
    #[arg(long, value_name = "DURATION", value_parser = super::serve::lease)]
    leader_grace: Option<Span>,
    /// Fail a step if the disk of the state directory has no space for its output for this long
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = disk_grace)]
    disk_grace: Span,
    /// Keep the worker's state in this folder (default: .windlass/workers/NAME)
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Subcommands for registered workers.
#[derive(Debug, clap::Subcommand)]
enum WorkerCommand {
    Drain(worker_drain::WorkerDrainArgs),
    Revoke(worker_revoke::WorkerRevokeArgs),
}

/// Less than a second would fail steps on a slow disk; more than a day is a mistake.
const DISK_GRACES: (Span, Span) = (Span::secs(1), Span::hours(24));

fn disk_grace(text: &str) -> Result<Span, String> {
    within(text, DISK_GRACES, "it must be from 1s to 24h")
}

/// Parses the address of a controller or a link. Which link schemes exist depends on the program.
fn join_address(text: &str) -> Result<String, ControllerAddressError> {
    let is_link = text
        .split_once(':')
        .is_some_and(|(scheme, rest)| !scheme.starts_with("http") && rest.starts_with('/'));
    if !is_link {
        text.parse::<ControllerAddress>()?;
    }
    Ok(text.to_owned())
}

/// The host name. Beside a controller, whose own worker has that name, it gets a suffix.
fn default_name(join: &[String]) -> String {
    let host = environment::host_name();
    let beside =
        |text: &String| text.parse().is_ok_and(|address: ControllerAddress| address.is_loopback());
    if join.iter().any(beside) { format!("{host}-worker") } else { host }
}

/// A name appears in tables and is the name of a folder.
pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if (1..=64).contains(&text.len()) && text.chars().all(fits) && !text.starts_with('.') {
        return Ok(text.to_owned());
    }
    Err("a name has 1 to 64 letters, digits, `.`, `_` or `-`".to_owned())
}

/// Determines how to reach the leader.
fn join(args: &WorkerArgs, context: &CommandContext) -> Result<JoinTarget, CliError> {
    let ca = args.ca.as_ref().map(|file| context.folder.join(file));
    if let [url] = args.join.as_slice()
        && context.links.knows(url)
    {
        return mailbox_target(url, ca, args, context);
    }
    let address = |url: &String| {
        url.parse().map_err(|bad: ControllerAddressError| CliError::usage(bad.to_string()))
    };
    let places =
        args.join.iter().map(address).collect::<Result<Vec<ControllerAddress>, CliError>>()?;
    let token = args.token_file.as_deref().map(daemon::read_token).transpose()?;
    Ok(JoinTarget::Http { places, ca, token })
}

/// The mailboxes to reach the leader through. In the cluster's own database, the leader's URL may also be found.
#[cfg_attr(
    not(feature = "postgres"),
    expect(unused_variables, reason = "only a link through the database reads them")
)]
fn mailbox_target(
    url: &str,
    ca: Option<PathBuf>,
    args: &WorkerArgs,
    context: &CommandContext,
) -> Result<JoinTarget, CliError> {
    let site = MailboxAddress {
        url: url.to_owned(),
        run: MailboxAddress::CLUSTER.to_owned(),
        ca: ca.clone(),
    };
    let key = MailboxKey::new(&site.run, environment::run_secret().as_deref());
    let mail = JoinTarget::Mailbox { site, key, links: context.links.clone() };
    #[cfg(feature = "postgres")]
    if url.starts_with("postgres") {
        let token = args.token_file.as_deref().map(daemon::read_token).transpose()?;
        let http = JoinTarget::Http { places: Vec::new(), ca, token };
        return Ok(JoinTarget::Database { http: Box::new(http), mail: Box::new(mail) });
    }
    Ok(mail)
}

/// Works until it is stopped.
pub(crate) fn run(args: &WorkerArgs, context: &CommandContext) -> Result<u8, CliError> {
    match &args.command {
        Some(WorkerCommand::Drain(args)) => return worker_drain::run(args, context),
        Some(WorkerCommand::Revoke(args)) => return worker_revoke::run(args, context),
        None => {}
    }
    args.log.install();
    let name = args.name.clone().unwrap_or_else(|| default_name(&args.join));
    let kept = || context.folder.join(STORE).join("workers").join(&name);
    let grace = args.leader_grace.map(|span| Duration::from_millis(span.as_millis()));
    daemon::work(&WorkerDaemonOptions {
        join: join(args, context)?,
        slots: args.slots.unwrap_or_else(cores),
        labels: context.compiled.labels(&with_labels(&args.label)),
        policy: args.environment.policy(),
        compiled: context.compiled.clone(),
        state: args.state.clone().unwrap_or_else(kept),
        root: context.folder.clone(),
        patience: grace,
        leader_grace: grace,
        disk_grace: Duration::from_millis(args.disk_grace.as_millis()),
        name,
    })
}
