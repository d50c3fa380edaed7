//! `windlass workers`

use serde_json::Value;
use windlass_core::time::Time;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::listing::{ListArgs, Listing};
use crate::cli::output::{Align, Table, span_text};
use crate::cli::reading::moment_of;
use crate::worker::labels;

/// List the workers of a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass workers --to http://build.example:7700
  windlass workers --json | jq -r 'select(.status == \"online\") | .name'")]
pub(crate) struct Args {
    #[command(flatten)]
    list: ListArgs,
}

/// Lists them, those that work first.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let nothing = "no workers yet: `windlass worker --join` adds one";
    Listing { path: "/workers", kept: None, nothing, pages: None, sort: by_standing, table }
        .print(&args.list, context)
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
            status_of(worker),
            format!("{}/{}", worker["leases"], worker["slots"]),
            since.unwrap_or_default(),
            labels_of(worker).join(" "),
        ]);
    }
    table
}

/// Its status, with the word that a plain worker has for itself.
fn status_of(worker: &Value) -> String {
    let status = text(worker, "status");
    match worker["reported"]["status"].as_str() {
        Some(own) if matches!(status, "online" | "draining") => format!("{status} ({own})"),
        _ => status.to_owned(),
    }
}

/// Its labels, those that somebody has given first: every machine has the others, and a line ends.
fn labels_of(worker: &Value) -> Vec<&str> {
    let labels = worker["labels"].as_array().into_iter().flatten();
    let mut labels: Vec<&str> = labels.filter_map(Value::as_str).collect();
    labels.sort_by_key(|label| labels::is_detected(label));
    labels
}

fn by_standing(workers: &mut [Value]) {
    workers.sort_by_key(|worker| (standing(worker), text(worker, "name").to_owned()));
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
