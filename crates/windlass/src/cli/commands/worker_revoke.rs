//! `windlass worker revoke`

use serde_json::json;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::{LeaderAccess, OriginArgs, runtime, segment};

/// Exclude a worker immediately and permanently
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The worker kills its steps as soon as it receives the order. Its steps are assigned to others only
when its leases have expired, since its processes may still run until then. To return, it must join
as a new worker with another --state folder and a token. For an orderly exit, use
`windlass worker drain`.

Examples:
  windlass worker revoke build-7 --to http://build.example:7700")]
pub(crate) struct WorkerRevokeArgs {
    /// Revoke this worker, by name or number
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Sends the request to the leader.
pub(crate) fn run(args: &WorkerRevokeArgs, context: &CommandContext) -> Result<u8, CliError> {
    let name = &args.name;
    runtime()?.block_on(async {
        let access = LeaderAccess::find(&args.origin, context).await?;
        let path = format!("/workers/{}/revoke", segment(name));
        let revoked = access.controller().post(&path, &json!({})).await;
        access.close().await?;
        revoked
    })?;
    output::print_message(&format!(
        "worker {name} is revoked; its steps are assigned to others when its leases have expired"
    ));
    Ok(0)
}
