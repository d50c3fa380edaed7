//! `windlass dev`

use std::net::SocketAddr;
use std::path::PathBuf;

use windlass_controller::StandbyPolicy;
use windlass_core::requirement::WorkerScope;
use windlass_core::time::Span;

use super::serve::{RATE, address, lease};
use crate::cli::bounded_number::number;
use crate::cli::context::CommandContext;
use crate::cli::daemon::{DevClusterOptions, ServeOptions};
use crate::cli::environment_args::EnvironmentArgs;
use crate::cli::error::CliError;
use crate::cli::local_run_args::{cores, with_labels};
use crate::cli::logging::LoggingArgs;
use crate::cli::project::{STORE, store_folder};
use crate::cli::settings::ConfigFileArgs;
use crate::cli::{daemon, environment, otlp};
use crate::embedded::StoreAddress;

/// The lease duration of the leader; a folder stays led while its process lives.
const TERM: Span = Span::secs(6);

/// Start a controller and workers on this machine, to try out a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Everything runs on this machine and ends with Ctrl-C. Kill a worker to see its steps run elsewhere.

Examples:
  windlass dev --workers 3
  windlass submit examples/tour.yml --wait --to http://127.0.0.1:7700")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct DevArgs {
    #[command(flatten)]
    _file: ConfigFileArgs,
    /// Start this many workers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = number(1..=64))]
    workers: u32,
    /// Run at most this many steps at a time on each worker (default: an equal share of the cores)
    #[arg(long, value_name = "N", value_parser = number(1..=10_000))]
    slots: Option<u32>,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = address)]
    listen: SocketAddr,
    /// Keep runs in this folder (default: .windlass)
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Keep files of steps in this folder (default: `objects` in the folder of runs)
    #[arg(long, value_name = "FOLDER")]
    objects: Option<PathBuf>,
    /// Keep a step assigned to a worker that has lost contact for this long
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    lease_ttl: Span,
    /// Require no token on a loopback address: every user of this machine can run commands here
    #[arg(long)]
    no_token: bool,
    /// Start although the store in a folder has lost acknowledged events; locks wait 10m for lost leases to expire
    #[arg(long)]
    accept_lost_history: bool,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Runs the cluster until it is stopped.
pub(crate) fn run(args: &DevArgs, context: &CommandContext) -> Result<u8, CliError> {
    args.log.install();
    if !args.listen.ip().is_loopback() {
        return Err(CliError::usage("`windlass dev` listens on a loopback address only").hint(
            "use `windlass serve` and `windlass worker` to accept connections from other machines",
        ));
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
            objects: args.objects.as_ref().map(|folder| context.folder.join(folder)),
            state: folder,
            name: environment::host_name(),
            stand_by: StandbyPolicy::Refuse,
            term: TERM,
            accept_lost_history: args.accept_lost_history,
            ca: None,
            ttl: args.lease_ttl,
            own_worker_scope: WorkerScope::PinnedOnly,
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
        },
        workers: args.workers,
        slots: args.slots.unwrap_or(each),
    })
}
