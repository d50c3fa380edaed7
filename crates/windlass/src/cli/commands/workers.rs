//! `windlass workers`

use serde_json::Value;
use windlass_core::time::Time;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Align, Table, span_text};
use crate::cli::reading::{ControllerArgs, moment_of, runtime};
use crate::local::system_now;
use crate::worker::labels;

/// List the workers of a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass workers --to http://build.example:7700
  windlass workers --json | jq -r 'select(.status == \"online\") | .name'")]
pub(crate) struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// Lists them, those that work first.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let controller = args.controller.controller(context)?;
    let mut workers: Vec<Value> = runtime()?.block_on(controller.get("/workers"))?;
    workers.sort_by_key(|worker| (standing(worker), text(worker, "name").to_owned()));
    if args.json {
        return Ok(output::objects(&workers));
    }
    if workers.is_empty() {
        output::talk("no workers yet: `windlass worker --join` adds one");
        return Ok(0);
    }
    let table = table(&workers, system_now());
    Ok(output::data(&table.lines(&context.out).join("\n")))
}

fn table(workers: &[Value], now: Time) -> Table {
    let head = [
        ("worker", Align::Left),
        ("status", Align::Left),
        ("steps", Align::Right),
        ("since", Align::Left),
        ("labels", Align::Left),
    ];
    let mut table = Table::new(head).cuts("labels").leaves_out(&["since", "labels"]);
    for worker in workers {
        let since = moment_of(&worker["since"]).map(|at| span_text(now.since(at)));
        table.row([
            text(worker, "name").to_owned(),
            text(worker, "status").to_owned(),
            format!("{}/{}", worker["leases"], worker["slots"]),
            since.unwrap_or_default(),
            labels_of(worker).join(" "),
        ]);
    }
    table
}

/// Its labels, those that somebody has given first: every machine has the others, and a line ends.
fn labels_of(worker: &Value) -> Vec<&str> {
    let labels = worker["labels"].as_array().into_iter().flatten();
    let mut labels: Vec<&str> = labels.filter_map(Value::as_str).collect();
    labels.sort_by_key(|label| labels::is_detected(label));
    labels
}

/// Those that work, those that are about to end, and those that are gone.
fn standing(worker: &Value) -> u8 {
    match text(worker, "status") {
        "online" => 0,
        "stale" | "draining" => 1,
        _ => 2,
    }
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
