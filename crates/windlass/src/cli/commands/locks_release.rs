//! `windlass locks release`

use serde_json::{Value, json};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::{LeaderAccess, OriginArgs, runtime, segment};

/// Take a lock away from the step that holds it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The step continues while the next holder also runs: the lock no longer keeps them apart. To end
the holder instead, use `windlass cancel` or `windlass worker revoke`.

Examples:
  windlass locks release production --to http://build.example:7700
  windlass locks release ship/registry --fence 17")]
pub(crate) struct LocksReleaseArgs {
    /// Release this lock
    #[arg(value_name = "NAME")]
    name: String,
    /// Release this holder, as `windlass locks --json` shows it; required if there are several
    #[arg(long, value_name = "N")]
    fence: Option<u64>,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Sends the request to the leader.
pub(crate) fn run(args: &LocksReleaseArgs, context: &CommandContext) -> Result<u8, CliError> {
    let name = &args.name;
    let fence: Value = runtime()?.block_on(async {
        let desk = LeaderAccess::find(&args.origin, context).await?;
        let path = format!("/locks/{}/release", segment(name));
        let body = args.fence.map_or_else(|| json!({}), |fence| json!({ "fence": fence }));
        let released = desk.controller().post(&path, &body).await;
        let told = released.and_then(|answered| desk.controller().read::<Value>(&answered));
        desk.close().await?;
        told.map(|told| told["fence"].clone())
    })?;
    output::print_message(&format!(
        "lock {name} is released from lease {fence}; its step continues, so until it ends, the next holder runs beside it"
    ));
    Ok(0)
}
