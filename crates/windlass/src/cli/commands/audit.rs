//! `windlass audit`

use serde_json::Value;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::{ColumnAlign, TextTable};
use crate::cli::run_source::{LeaderAccess, OriginArgs, runtime};

/// Show recent administrative changes and their authors, newest last
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Lists the last 1,000 changes. The journal keeps all of them; those of a run are in its events.

Examples:
  windlass audit
  windlass audit --json --to http://build.example:7700 | jq -r 'select(.act == \"force_release\")'")]
pub(crate) struct AuditArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Fetches the trail from the leader.
pub(crate) fn run(args: &AuditArgs, context: &CommandContext) -> Result<u8, CliError> {
    let mut acts: Vec<Value> = runtime()?.block_on(async {
        let access = LeaderAccess::find(&args.origin, context).await?;
        let acts = access.controller().get("/audit").await;
        access.close().await?;
        acts
    })?;
    acts.reverse();
    if args.json {
        return Ok(output::print_json_lines(&acts));
    }
    if acts.is_empty() {
        output::print_message("no changes are recorded yet");
        return Ok(0);
    }
    Ok(output::print_data(&table(&acts).lines(&context.out).join("\n")))
}

fn table(acts: &[Value]) -> TextTable {
    let head = [
        ("at", ColumnAlign::Left),
        ("by", ColumnAlign::Left),
        ("act", ColumnAlign::Left),
        ("about", ColumnAlign::Left),
    ];
    let mut table = TextTable::new(head);
    for acted in acts {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        table.row([
            text(&acted["at"]),
            actor_text(&acted["by"]),
            text(&acted["act"]),
            object_text(&acted["about"]),
        ]);
    }
    table
}

/// A short description of the author.
fn actor_text(by: &Value) -> String {
    let text = |key: &str| by[key].as_str();
    match (text("name"), text("id"), text("kind")) {
        (Some(name), _, _) => format!("token {name}"),
        (None, Some(id), _) => format!("worker {id}"),
        (None, None, kind) => kind.unwrap_or_default().replace('_', " "),
    }
}

/// A short description of the subject.
fn object_text(about: &Value) -> String {
    let text = |key: &str| about[key].as_str();
    let kind = ["run", "worker", "lock", "token"].into_iter().find(|kind| text(kind).is_some());
    let Some(kind) = kind else { return String::new() };
    let name = text("name").or_else(|| text(kind)).unwrap_or_default();
    format!("{kind} {name}")
}
