//! `windlass worker`

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::time::Span;

use super::serve::within;
use super::{worker_drain, worker_revoke};
use crate::cli::bounded_number::number;
use crate::cli::context::CommandContext;
use crate::cli::daemon::{self, JoinTarget, WorkerDaemonOptions};
use crate::cli::environment;
use crate::cli::environment_args::EnvironmentArgs;
use crate::cli::error::CliError;
use crate::cli::local_run_args::{cores, label, with_labels};
use crate::cli::logging::LoggingArgs;
use crate::cli::project::STORE;
use crate::cli::settings::ConfigFileArgs;
use crate::link::http::{ControllerAddress, ControllerAddressError};
use crate::link::mailbox::{MailboxAddress, MailboxKey};

/// Join a cluster and run its steps
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
Steps run in the current directory. It opens no port. The first Ctrl-C or SIGTERM lets steps
finish and takes no more, the second one ends them and gives them back. Output that no controller
has taken stays in the state directory; the next start with the same directory sends it.

Examples:
  windlass worker --join http://build.example:7700
  windlass worker --join http://a:7700 --join http://b:7700 --slots 4 --label gpu")]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    command: Option<WorkerCommand>,
    #[command(flatten)]
    _file: ConfigFileArgs,
    /// Where a controller is, or where it can be left letters, such as `redis://HOST`; others of the same cluster behind
    /// commas, or say it again
    #[arg(long, value_name = "URL", required = true, value_delimiter = ',', value_parser = join_address)]
    join: Vec<String>,
    /// Steps at a time; as many as there are cores if not said
    #[arg(long, value_name = "N", value_parser = number(1..=10_000))]
    slots: Option<u32>,
    /// Advertise one more label
    #[arg(long, value_name = "LABEL", value_parser = label)]
    label: Vec<String>,
    /// What it is called; like its machine if not said, with `-worker` beside a controller on the same
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// A file with the cluster's token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file with the certificates of who vouches for controllers; else `WINDLASS_CA`, else whom browsers believe
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// End if no controller answers for so long, such as 60s; otherwise it waits for ever
    #[arg(long, value_name = "DURATION", value_parser = super::serve::lease)]
    leader_grace: Option<Span>,
    /// Fail a step whose output finds no room on the disk of the state directory for this long
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = disk_grace)]
    disk_grace: Span,
    /// What it keeps between its lives; `.windlass/workers/NAME` if not said
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    log: LoggingArgs,
}

/// What is done to workers that are there.
#[derive(Debug, clap::Subcommand)]
enum WorkerCommand {
    Drain(worker_drain::WorkerDrainArgs),
    Revoke(worker_revoke::WorkerRevokeArgs),
}

/// Shorter than a moment would fail steps for a disk that is only slow; a wait of more than a day is a mistake.
const DISK_GRACES: (Span, Span) = (Span::secs(1), Span::hours(24));

fn disk_grace(text: &str) -> Result<Span, String> {
    within(text, DISK_GRACES, "it lasts from 1s to 24h")
}

/// The address of a controller, or one that may be of a link: which of them there are depends on the program.
fn join_address(text: &str) -> Result<String, ControllerAddressError> {
    let is_link = text
        .split_once(':')
        .is_some_and(|(scheme, rest)| !scheme.starts_with("http") && rest.starts_with('/'));
    if !is_link {
        text.parse::<ControllerAddress>()?;
    }
    Ok(text.to_owned())
}

/// That of its machine. Beside a controller, whose own worker has that name, it is another.
fn default_name(join: &[String]) -> String {
    let host = environment::host_name();
    let beside =
        |text: &String| text.parse().is_ok_and(|place: ControllerAddress| place.is_loopback());
    if join.iter().any(beside) { format!("{host}-worker") } else { host }
}

/// A name is shown in tables and is that of a folder.
pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if (1..=64).contains(&text.len()) && text.chars().all(fits) && !text.starts_with('.') {
        return Ok(text.to_owned());
    }
    Err("a name has 1 to 64 letters, digits, `.`, `_` or `-`".to_owned())
}

/// Where its leader may be.
fn join(args: &WorkerArgs, context: &CommandContext) -> Result<JoinTarget, CliError> {
    let ca = args.ca.as_ref().map(|file| context.folder.join(file));
    if let [url] = args.join.as_slice()
        && context.links.knows(url)
    {
        return mailbox_target(url, ca, args, context);
    }
    let place = |url: &String| {
        url.parse().map_err(|bad: ControllerAddressError| CliError::usage(bad.to_string()))
    };
    let places =
        args.join.iter().map(place).collect::<Result<Vec<ControllerAddress>, CliError>>()?;
    let token = args.token_file.as_deref().map(daemon::read_token).transpose()?;
    Ok(JoinTarget::Http { places, ca, token })
}

/// The way to a leader that may be left letters. In the cluster's own database it may also say where it is.
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

/// Works until it is told to end.
pub(crate) fn run(args: &WorkerArgs, context: &CommandContext) -> Result<u8, CliError> {
    match &args.command {
        Some(WorkerCommand::Drain(args)) => return worker_drain::run(args, context),
        Some(WorkerCommand::Revoke(args)) => return worker_revoke::run(args, context),
        None => {}
    }
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
        log: args.log.logger(),
        patience: grace,
        leader_grace: grace,
        disk_grace: Duration::from_millis(args.disk_grace.as_millis()),
        name,
    })
}
