//! `windlass locks`

use serde_json::Value;
use windlass_core::time::Time;

use super::locks_release;
use crate::cli::cluster_list::{ClusterList, ClusterListArgs, as_received};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::{ColumnAlign, TextTable, span_text};
use crate::cli::run_source::moment_of;

/// List the locks of a cluster, their holders and the number of waiting steps
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  windlass locks --to http://build.example:7700
  windlass locks --json | jq -r 'select(.waiting > 0) | .name'")]
pub(crate) struct LocksArgs {
    #[command(subcommand)]
    command: Option<LocksCommand>,
    #[command(flatten)]
    list: ClusterListArgs,
}

/// Subcommands of `windlass locks`.
#[derive(Debug, clap::Subcommand)]
enum LocksCommand {
    Release(locks_release::LocksReleaseArgs),
}

/// Lists the locks by name.
pub(crate) fn run(args: &LocksArgs, context: &CommandContext) -> Result<u8, CliError> {
    if let Some(LocksCommand::Release(args)) = &args.command {
        return locks_release::run(args, context);
    }
    let nothing = "no unfinished run uses a lock";
    ClusterList {
        path: "/locks",
        from_store: None,
        empty_message: nothing,
        pages: None,
        sort: as_received,
        table,
    }
    .print(&args.list, context)
}

/// One row per holder; the lock's name is in the first.
fn table(locks: &[Value], now: Time) -> TextTable {
    let head = [
        ("lock", ColumnAlign::Left),
        ("held", ColumnAlign::Right),
        ("waiting", ColumnAlign::Right),
        ("by", ColumnAlign::Left),
        ("of run", ColumnAlign::Left),
        ("on", ColumnAlign::Left),
        ("for", ColumnAlign::Right),
    ];
    let mut table = TextTable::new(head).cuts("by").leaves_out(&["on", "for", "of run"]);
    for lock in locks {
        let holders = lock["holders"].as_array().map_or(&[][..], Vec::as_slice);
        let name = lock["name"].as_str().unwrap_or_default();
        let taken = format!("{}/{}", holders.len(), lock["slots"]);
        let mut lock_cells = [name.to_owned(), taken, lock["waiting"].to_string()];
        if holders.is_empty() {
            let embargo = lock["embargo"].as_str().map(|until| format!("withheld until {until}"));
            table.row(lock_cells.clone().into_iter().chain(embargo));
        }
        for holder in holders {
            let text = |key: &str| holder[key].as_str().unwrap_or_default().to_owned();
            let since = moment_of(&holder["since"]).map(|at| span_text(now.since(at)));
            let tail = [text("name"), text("run"), text("worker"), since.unwrap_or_default()];
            table.row(lock_cells.into_iter().chain(tail));
            lock_cells = [String::new(), String::new(), String::new()];
        }
    }
    table
}
