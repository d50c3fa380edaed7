//! `windlass locks release`

use serde_json::{Value, json};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::{LeaderAccess, OriginArgs, runtime, segment};

/// Take a lock away from the step that holds it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The step goes on, and so does whoever gets the lock next: what the lock kept apart is not kept
apart any more. `windlass cancel` and `windlass worker revoke` end the holder instead.

Examples:
  windlass locks release production --to http://build.example:7700
  windlass locks release ship/registry --fence 17")]
pub(crate) struct LocksReleaseArgs {
    /// Which lock
    #[arg(value_name = "NAME")]
    name: String,
    /// Which holder, as `windlass locks --json` tells it; needed where there are several
    #[arg(long, value_name = "N")]
    fence: Option<u64>,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Asks whoever leads.
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
        "lock {name} is taken away from lease {fence}, whose step goes on: until it ends, another may do beside it what \
         the lock kept apart"
    ));
    Ok(0)
}
