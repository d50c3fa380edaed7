//! `windlass locks release`

use windlass_link::http::{ReleaseLockBody, ReleasedLockBody};

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
    let released: ReleasedLockBody = runtime()?.block_on(async {
        let access = LeaderAccess::find(&args.origin, context).await?;
        let path = format!("/locks/{}/release", segment(name));
        let answer = access.controller().post(&path, &ReleaseLockBody { fence: args.fence }).await;
        let released = answer.and_then(|answer| access.controller().read(&answer));
        access.close().await?;
        released
    })?;
    output::print_message(&format!(
        "lock {name} is released from lease {}; its step continues, so until it ends, the next holder runs beside it",
        released.fence
    ));
    Ok(0)
}
