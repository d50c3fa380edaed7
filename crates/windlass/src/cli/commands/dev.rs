//! `windlass dev`

use std::net::SocketAddr;

use windlass_core::time::Span;

use super::serve::{RATE, address, lease};
use crate::cli::bounded_number::number;
use crate::cli::context::CommandContext;
use crate::cli::daemon::{self, DevClusterOptions, OwnWorkerScope, ServeOptions};
use crate::cli::environment_args::EnvironmentArgs;
use crate::cli::error::CliError;
use crate::cli::local_run_args::{cores, with_labels};
use crate::cli::logging::LoggingArgs;
use crate::cli::project::{STORE, store_folder};
use crate::cli::settings::ConfigFileArgs;
use crate::cli::{environment, otlp};
use crate::controller::StandbyPolicy;
use crate::embedded::StoreAddress;

/// A folder is led for as long as its process lives.
const TERM: Span = Span::secs(6);

/// Start a controller and workers here, to try a cluster out
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Everything runs on this machine and ends with Ctrl-C. Kill a worker and see its steps run elsewhere.

Examples:
  windlass dev --workers 3
  windlass submit examples/tour.yml --wait --to http://127.0.0.1:7700")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct DevArgs {
    #[command(flatten)]
    _file: ConfigFileArgs,
    /// How many workers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = number(1..=64))]
    workers: u32,
    /// Steps at a time of each worker
    #[arg(long, value_name = "N", value_parser = number(1..=10_000))]
    slots: Option<u32>,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = address)]
    listen: SocketAddr,
    /// Where to keep runs: a folder; `.windlass` if not said
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// How long a step belongs to a worker that is not heard
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    lease_ttl: Span,
    /// Ask for no token on a loopback address: every user of this machine can run commands here
    #[arg(long)]
    no_token: bool,
    /// Start on a store in a folder that has lost what it had acknowledged; locks wait 10m for lost leases to end
    #[arg(long)]
    accept_lost_history: bool,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Serves until it is told to end.
pub(crate) fn run(args: &DevArgs, context: &CommandContext) -> Result<u8, CliError> {
    if !args.listen.ip().is_loopback() {
        return Err(CliError::usage("`windlass dev` listens on a loopback address only")
            .hint("`windlass serve` and `windlass worker` are for others"));
    }
    let folder = match &args.store {
        Some(store) => store_folder(store)?,
        None => context.folder.join(STORE),
    };
    let each = (cores() / args.workers).max(1);
    let store = StoreAddress::Folder(folder.clone());
    let token_file = daemon::token_for_workers(&folder)?;
    daemon::dev(&DevClusterOptions {
        serve: ServeOptions {
            listen: args.listen,
            advertise: None,
            tls: None,
            hosts: Vec::new(),
            rate: RATE,
            store,
            state: folder,
            name: environment::host_name(),
            stand_by: StandbyPolicy::Refuse,
            term: TERM,
            accept_lost_history: args.accept_lost_history,
            ca: None,
            ttl: args.lease_ttl,
            own_worker_scope: OwnWorkerScope::PinnedOnly,
            no_token: args.no_token,
            token_file,
            observe: None,
            slots: each,
            labels: context.compiled.labels(&with_labels(&[])),
            policy: args.environment.policy(),
            compiled: context.compiled.clone(),
            root: context.folder.clone(),
            metrics: None,
            collector: otlp::collector(None),
            mail: Vec::new(),
            log: args.log.logger(),
        },
        workers: args.workers,
        slots: args.slots.unwrap_or(each),
    })
}
