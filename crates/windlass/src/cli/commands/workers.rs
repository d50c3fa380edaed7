//! `windlass workers`

use serde_json::Value;
use windlass_core::time::Time;
use windlass_worker::labels;

use crate::cli::cluster_list::{ClusterList, ClusterListArgs};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::{ColumnAlign, TextTable, span_text};
use crate::cli::run_source::moment_of;

/// List the workers of a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass workers --to http://build.example:7700
  windlass workers --json | jq -r 'select(.status == \"online\") | .name'")]
pub(crate) struct WorkersArgs {
    #[command(flatten)]
    list: ClusterListArgs,
}

/// Lists the workers, online ones first.
pub(crate) fn run(args: &WorkersArgs, context: &CommandContext) -> Result<u8, CliError> {
    let nothing = "no workers yet: `windlass worker --join` adds one";
    ClusterList {
        path: "/workers",
        from_store: None,
        empty_message: nothing,
        pages: None,
        sort: sort_by_status,
        table,
    }
    .print(&args.list, context)
}

fn table(workers: &[Value], now: Time) -> TextTable {
    let head = [
        ("worker", ColumnAlign::Left),
        ("status", ColumnAlign::Left),
        ("steps", ColumnAlign::Right),
        ("since", ColumnAlign::Left),
        ("labels", ColumnAlign::Left),
    ];
    let mut table = TextTable::new(head).cuts("labels").leaves_out(&["since", "labels"]);
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

/// Its status, with the status that a plain worker reports itself.
fn status_of(worker: &Value) -> String {
    let status = text(worker, "status");
    match worker["reported"]["status"].as_str() {
        Some(own) if matches!(status, "online" | "draining") => format!("{status} ({own})"),
        _ => status.to_owned(),
    }
}

/// Its labels, configured ones first: every machine has the detected ones, and the column may be cut.
fn labels_of(worker: &Value) -> Vec<&str> {
    let labels = worker["labels"].as_array().into_iter().flatten();
    let mut labels: Vec<&str> = labels.filter_map(Value::as_str).collect();
    labels.sort_by_key(|label| labels::is_detected(label));
    labels
}

fn sort_by_status(workers: &mut [Value]) {
    workers.sort_by_key(|worker| (status_rank(worker), text(worker, "name").to_owned()));
}

/// Ranks online workers first, then stale and draining ones, then those that are gone.
fn status_rank(worker: &Value) -> u8 {
    match text(worker, "status") {
        "online" => 0,
        "stale" | "draining" => 1,
        _ => 2,
    }
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
