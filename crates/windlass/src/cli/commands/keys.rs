//! `windlass keys`

use serde_json::Value;
use windlass_core::engine::Engine;
use windlass_core::time::Time;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::listing::{ListArgs, Listing, as_told};
use crate::cli::output::{Align, Table, span_text};
use crate::cli::reading::moment_of;

/// List what is done once (`idempotent:`): its keys, and who did it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`run --again`, `submit --again` and `rerun --again` do it though it was done.

Examples:
  windlass keys                                     those of the runs in this folder
  windlass keys --to http://build.example:7700
  windlass keys --json | jq -r 'select(.status == \"pending\") | .key'")]
pub(crate) struct Args {
    #[command(flatten)]
    list: ListArgs,
}

/// Keys that are asked for at once.
const PAGE: usize = 10_000;

/// Lists them by key.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let nothing = "nothing was done under a key";
    let (pages, kept) = (Some((PAGE, "key")), Some(kept as fn(&Engine) -> Vec<Value>));
    Listing { path: "/keys", kept, nothing, pages, sort: as_told, table }.print(&args.list, context)
}

/// Those of the runs that were made in a folder.
fn kept(engine: &Engine) -> Vec<Value> {
    engine.key_reports(None).map(|key| key.to_json()).collect()
}

fn table(keys: &[Value], now: Time) -> Table {
    let head = [
        ("key", Align::Left),
        ("status", Align::Left),
        ("by", Align::Left),
        ("of run", Align::Left),
        ("since", Align::Right),
        ("waiting", Align::Right),
    ];
    let mut table = Table::new(head).cuts("key").leaves_out(&["waiting", "of run"]);
    for key in keys {
        let text = |field: &str| key[field].as_str().unwrap_or_default().to_owned();
        let since = moment_of(&key["at"]).map(|at| span_text(now.since(at)));
        let cells = [text("key"), text("status"), text("name"), text("run")];
        let tail = [since.unwrap_or_default(), key["waiting"].to_string()];
        table.row(cells.into_iter().chain(tail));
    }
    table
}
