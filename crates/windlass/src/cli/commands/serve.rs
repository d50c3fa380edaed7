//! `windlass serve`

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use windlass_core::spec::duration;
use windlass_core::time::Span;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::how::{cores, label, with_labels};
use crate::cli::project::STORE;
use crate::cli::serving::{self, Runs, Serve};

/// Lead a cluster: keep its runs, and hand their steps to workers
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "\
It runs steps itself, too, unless told not to; workers join with `windlass worker --join`. The
first Ctrl-C or SIGTERM lets steps that run here finish, the second one ends them. Workers go on
without it for a while and find it again.

Examples:
  windlass serve
  windlass serve --listen 0.0.0.0:7700 --token-file token --advertise http://build.example:7700")]
pub(crate) struct Args {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = address)]
    listen: SocketAddr,
    /// Where workers and clients reach it, if that is not where it listens
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// Where to keep runs: a folder; `.windlass` if not said
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// How long a step belongs to a worker that is not heard, such as 15s
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    lease_ttl: Span,
    /// Run nothing here but steps pinned to the leader
    #[arg(long)]
    no_exec: bool,
    /// A file with the token that everybody has to show
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Steps at a time here; as many as there are cores if not said
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    jobs: Option<u32>,
    /// Advertise one more label
    #[arg(long, value_name = "LABEL", value_parser = label)]
    label: Vec<String>,
    /// Tell of every hand-out and outcome
    #[arg(short, long)]
    verbose: bool,
}

/// A lease that is shorter than this is lost by the pause of a busy machine; one that is longer keeps a dead worker's
/// steps waiting for a day.
const LEASES: (Span, Span) = (Span::secs(2), Span::hours(24));

pub(super) fn lease(text: &str) -> Result<Span, String> {
    let span = duration(text).map_err(|_| "write it like 15s or 2m".to_owned())?;
    if (LEASES.0..=LEASES.1).contains(&span) {
        return Ok(span);
    }
    Err("it lasts from 2s to 24h".to_owned())
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found =
        text.to_socket_addrs().map_err(|_| "write it like 127.0.0.1:7700".to_owned())?;
    found.next().ok_or_else(|| "it has no address".to_owned())
}

/// Serves until it is told to end.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let store = match &args.store {
        Some(store) => store.trim_start_matches("sqlite:").into(),
        None => context.folder.join(STORE),
    };
    let token = args.token_file.as_deref().map(serving::read_token).transpose()?;
    serving::serve(&Serve {
        listen: args.listen,
        advertise: args.advertise.clone(),
        store,
        ttl: args.lease_ttl,
        runs: if args.no_exec { Runs::PinnedOnly } else { Runs::Anything },
        token,
        slots: args.jobs.unwrap_or_else(cores),
        labels: with_labels(&args.label),
        root: context.folder.clone(),
        verbose: args.verbose,
    })
}
