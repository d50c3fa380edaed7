//! `windlass worker revoke`

use serde_json::json;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::{LeaderAccess, OriginArgs, runtime, segment};

/// Shut a worker out, at once and for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It ends what it runs as soon as it hears of it. What it holds is given to others when its lease
has ended, not sooner: its processes may still run. To come back it joins as a new worker, with
another --state folder and a token. `windlass worker drain` is the polite way.

Examples:
  windlass worker revoke build-7 --to http://build.example:7700")]
pub(crate) struct WorkerRevokeArgs {
    /// Which worker, by name or number
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Asks whoever leads.
pub(crate) fn run(args: &WorkerRevokeArgs, context: &CommandContext) -> Result<u8, CliError> {
    let name = &args.name;
    runtime()?.block_on(async {
        let desk = LeaderAccess::find(&args.origin, context).await?;
        let path = format!("/workers/{}/revoke", segment(name));
        let revoked = desk.controller().post(&path, &json!({})).await;
        desk.close().await?;
        revoked
    })?;
    output::print_message(&format!(
        "worker {name} is revoked; what it holds is given to others when its leases have ended"
    ));
    Ok(0)
}
