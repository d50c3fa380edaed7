//! `windlass audit`

use serde_json::Value;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Align, Table};
use crate::cli::reading::{Desk, OriginArgs, runtime};

/// Show what was changed on whose word, the newest last
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The last 1,000 changes are at hand. All of them are in the journal, those about a run in its
events.

Examples:
  windlass audit
  windlass audit --json --to http://build.example:7700 | jq -r 'select(.act == \"force_release\")'")]
pub(crate) struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Asks whoever leads.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let mut acts: Vec<Value> = runtime()?.block_on(async {
        let desk = Desk::find(&args.origin, context).await?;
        let acts = desk.controller().get("/audit").await;
        desk.leave().await?;
        acts
    })?;
    acts.reverse();
    if args.json {
        return Ok(output::objects(&acts));
    }
    if acts.is_empty() {
        output::talk("nobody has changed anything yet");
        return Ok(0);
    }
    Ok(output::data(&table(&acts).lines(&context.out).join("\n")))
}

fn table(acts: &[Value]) -> Table {
    let head =
        [("at", Align::Left), ("by", Align::Left), ("act", Align::Left), ("about", Align::Left)];
    let mut table = Table::new(head);
    for acted in acts {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        table.row([
            text(&acted["at"]),
            who(&acted["by"]),
            text(&acted["act"]),
            what(&acted["about"]),
        ]);
    }
    table
}

/// Who it was, in a word or two.
fn who(by: &Value) -> String {
    let text = |key: &str| by[key].as_str();
    match (text("name"), text("id"), text("kind")) {
        (Some(name), _, _) => format!("token {name}"),
        (None, Some(id), _) => format!("worker {id}"),
        (None, None, kind) => kind.unwrap_or_default().replace('_', " "),
    }
}

/// What it was done to.
fn what(about: &Value) -> String {
    let text = |key: &str| about[key].as_str();
    let kind = ["run", "worker", "lock", "token"].into_iter().find(|kind| text(kind).is_some());
    let Some(kind) = kind else { return String::new() };
    let name = text("name").or_else(|| text(kind)).unwrap_or_default();
    format!("{kind} {name}")
}
