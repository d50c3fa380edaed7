//! `windlass queue`

use serde_json::Value;
use windlass_core::time::Time;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::listing::{ListArgs, Listing, as_told};
use crate::cli::output::{Align, Table, span_text};
use crate::cli::reading::moment_of;

/// List what is ready and waits for workers, by what it requires
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A row is a demand that steps have in common: how many of them are ready, how many of these wait for
locks, how long the first has waited, how many workers may run them, and how many of those have a
free slot. `windlass why RUN STEP` tells of one step.

Examples:
  windlass queue --to http://build.example:7700
  windlass queue --json | jq 'select(.workers == 0)'")]
pub(crate) struct Args {
    #[command(flatten)]
    list: ListArgs,
}

/// Lists what waits.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let nothing = "nothing waits for a worker";
    Listing { path: "/queue", kept: None, nothing, pages: None, sort: as_told, table }
        .print(&args.list, context)
}

fn table(classes: &[Value], now: Time) -> Table {
    let head = [
        ("requires", Align::Left),
        ("ready", Align::Right),
        ("for locks", Align::Right),
        ("longest", Align::Right),
        ("workers", Align::Right),
        ("free", Align::Right),
    ];
    let mut table = Table::new(head).cuts("requires").leaves_out(&["for locks", "longest"]);
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
