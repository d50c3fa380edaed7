//! `windlass queue`

use serde_json::Value;
use windlass_core::time::Time;

use crate::cli::cluster_list::{ClusterList, ClusterListArgs, as_received};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::{ColumnAlign, TextTable, span_text};
use crate::cli::run_source::moment_of;

/// List steps that are ready and wait for a worker, by requirement
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each row is one requirement: the number of steps that are ready, how many of these wait for locks,
the longest wait, the number of workers that match, and how many of those have a free slot. For a
single step, use `windlass why RUN STEP`.

Examples:
  windlass queue --to http://build.example:7700
  windlass queue --json | jq 'select(.workers == 0)'")]
pub(crate) struct QueueArgs {
    #[command(flatten)]
    list: ClusterListArgs,
}

/// Lists the queue.
pub(crate) fn run(args: &QueueArgs, context: &CommandContext) -> Result<u8, CliError> {
    let nothing = "no step waits for a worker";
    ClusterList {
        path: "/queue",
        from_store: None,
        empty_message: nothing,
        pages: None,
        sort: as_received,
        table,
    }
    .print(&args.list, context)
}

fn table(classes: &[Value], now: Time) -> TextTable {
    let head = [
        ("requires", ColumnAlign::Left),
        ("ready", ColumnAlign::Right),
        ("for locks", ColumnAlign::Right),
        ("longest", ColumnAlign::Right),
        ("workers", ColumnAlign::Right),
        ("free", ColumnAlign::Right),
    ];
    let mut table = TextTable::new(head).cuts("requires").leaves_out(&["for locks", "longest"]);
    for class in classes {
        let requires = class["requires"].as_str().filter(|text| !text.is_empty());
        let oldest = moment_of(&class["oldest"]).map(|at| span_text(now.since(at)));
        let number = |key: &str| class[key].to_string();
        table.row([
            requires.unwrap_or("any worker").to_owned(),
            number("ready"),
            number("locked"),
            oldest.unwrap_or_default(),
            number("workers"),
            number("free"),
        ]);
    }
    table
}
