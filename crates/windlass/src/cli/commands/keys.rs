//! `windlass keys`

use serde_json::{Value, json};
use windlass_core::engine::Engine;
use windlass_core::time::Time;

use crate::cli::cluster_list::{ClusterList, ClusterListArgs, as_received};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::{ColumnAlign, TextTable, span_text};
use crate::cli::run_source::moment_of;

/// List idempotency keys (`idempotent:`) and the step that holds each
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With `--again`, `run`, `submit` and `rerun` run a step even if its key is done.

Examples:
  windlass keys                                     keys of the runs in this folder
  windlass keys --to http://build.example:7700
  windlass keys --json | jq -r 'select(.status == \"pending\") | .key'")]
pub(crate) struct KeysArgs {
    #[command(flatten)]
    list: ClusterListArgs,
}

/// Keys per request.
const PAGE: usize = 10_000;

/// Lists the keys in order.
pub(crate) fn run(args: &KeysArgs, context: &CommandContext) -> Result<u8, CliError> {
    let nothing = "no idempotency keys yet";
    let (pages, kept) = (Some((PAGE, "key")), Some(kept as fn(&Engine) -> Vec<Value>));
    ClusterList {
        path: "/keys",
        from_store: kept,
        empty_message: nothing,
        pages,
        sort: as_received,
        table,
    }
    .print(&args.list, context)
}

/// The keys of the runs in a folder.
fn kept(engine: &Engine) -> Vec<Value> {
    engine.key_reports(None).map(|key| json!(key.json_form())).collect()
}

fn table(keys: &[Value], now: Time) -> TextTable {
    let head = [
        ("key", ColumnAlign::Left),
        ("status", ColumnAlign::Left),
        ("by", ColumnAlign::Left),
        ("of run", ColumnAlign::Left),
        ("since", ColumnAlign::Right),
        ("waiting", ColumnAlign::Right),
    ];
    let mut table = TextTable::new(head).cuts("key").leaves_out(&["waiting", "of run"]);
    for key in keys {
        let text = |field: &str| key[field].as_str().unwrap_or_default().to_owned();
        let since = moment_of(&key["at"]).map(|at| span_text(now.since(at)));
        let cells = [text("key"), text("status"), text("name"), text("run")];
        let tail = [since.unwrap_or_default(), key["waiting"].to_string()];
        table.row(cells.into_iter().chain(tail));
    }
    table
}
