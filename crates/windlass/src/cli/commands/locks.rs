//! `windlass locks`

use serde_json::Value;
use windlass_core::time::Time;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Align, Table, span_text};
use crate::cli::reading::{ControllerArgs, moment_of, runtime};
use crate::local::system_now;

/// List the locks of a cluster, who holds them and how many wait
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass locks --to http://build.example:7700
  windlass locks --json | jq -r 'select(.waiting > 0) | .name'")]
pub(crate) struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// Lists them by name.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let controller = args.controller.controller(context)?;
    let locks: Vec<Value> = runtime()?.block_on(controller.get("/locks"))?;
    if args.json {
        return Ok(output::objects(&locks));
    }
    if locks.is_empty() {
        output::talk("no run that is not over names a lock");
        return Ok(0);
    }
    Ok(output::data(&table(&locks, system_now()).lines(&context.out).join("\n")))
}

/// A row for each holder; the lock itself is named once.
fn table(locks: &[Value], now: Time) -> Table {
    let head = [
        ("lock", Align::Left),
        ("held", Align::Right),
        ("waiting", Align::Right),
        ("by", Align::Left),
        ("of run", Align::Left),
        ("on", Align::Left),
        ("for", Align::Right),
    ];
    let mut table = Table::new(head).cuts("by").leaves_out(&["on", "for", "of run"]);
    for lock in locks {
        let holders = lock["holders"].as_array().map_or(&[][..], Vec::as_slice);
        let name = lock["name"].as_str().unwrap_or_default();
        let taken = format!("{}/{}", holders.len(), lock["slots"]);
        let mut lock_cells = [name.to_owned(), taken, lock["waiting"].to_string()];
        if holders.is_empty() {
            table.row(lock_cells.clone());
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
