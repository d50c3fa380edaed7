//! `windlass token`

use serde_json::{Value, json};
use windlass_core::access::Scope;
use windlass_core::spec::duration;
use windlass_core::time::Span;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Align, Table};
use crate::cli::reading::{Desk, OriginArgs, runtime, segment};

/// Make, list and revoke what opens a controller
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
Without --to the store in this folder is meant: through its controller if one runs, or on the
store itself, so that the first token can be made before `windlass serve`. From the first token on
who comes has to show one.

Examples:
  windlass token create --scope admin > admin-token
  windlass token create fleet --scope worker --expires 30d > worker-token
  windlass token revoke fleet --to http://build.example:7700 --token-file admin-token")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Create(CreateArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// Make a token and print it, this once
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// What it is called; after what it is for if not said
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// What it opens: read, submit, worker or admin; say it again for more
    #[arg(long, value_name = "SCOPE", required = true)]
    scope: Vec<Scope>,
    /// When it ends by itself, such as 30d; never if not said
    #[arg(long, value_name = "DURATION", value_parser = lasting)]
    expires: Option<Span>,
    #[command(flatten)]
    origin: OriginArgs,
}

/// List the tokens that are kept, those that are over too
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Take a token back: what it has open is closed at once
#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// Which, by name or id
    #[arg(value_name = "TOKEN")]
    token: String,
    #[command(flatten)]
    origin: OriginArgs,
}

fn lasting(text: &str) -> Result<Span, String> {
    duration(text).map_err(|_| "write it like 12h or 30d".to_owned())
}

/// Asks whoever leads.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    match &args.command {
        Command::Create(args) => create(args, context),
        Command::List(args) => list(args, context),
        Command::Revoke(args) => revoke(args, context),
    }
}

/// The token alone is data: it can be written to a file.
fn create(args: &CreateArgs, context: &Context) -> Result<u8, CliError> {
    let scopes: Vec<String> = args.scope.iter().map(ToString::to_string).collect();
    let mut wanted = json!({ "scopes": scopes });
    if let Some(name) = &args.name {
        wanted["name"] = name.as_str().into();
    }
    if let Some(expires) = args.expires {
        wanted["expires_in_ms"] = expires.as_millis().into();
    }
    let made: Value = runtime()?.block_on(async {
        let desk = Desk::find(&args.origin, context).await?;
        let made = desk.controller().post("/tokens", &wanted).await;
        let made = made.and_then(|answered| desk.controller().read(&answered));
        desk.leave().await?;
        made
    })?;
    let until = made["expires_at"].as_str().map_or_else(String::new, |at| format!(", until {at}"));
    output::talk(&format!(
        "token {} ({}) opens {}{until}; it is shown this once",
        text(&made, "name"),
        text(&made, "id"),
        scopes.join(", "),
    ));
    Ok(output::data(text(&made, "token")))
}

fn list(args: &ListArgs, context: &Context) -> Result<u8, CliError> {
    let tokens: Vec<Value> = runtime()?.block_on(async {
        let desk = Desk::find(&args.origin, context).await?;
        let tokens = desk.controller().get("/tokens").await;
        desk.leave().await?;
        tokens
    })?;
    if args.json {
        return Ok(output::objects(&tokens));
    }
    if tokens.is_empty() {
        output::talk("no tokens yet: `windlass token create NAME --scope SCOPE` makes one");
        return Ok(0);
    }
    Ok(output::data(&table(&tokens).lines(&context.out).join("\n")))
}

fn table(tokens: &[Value]) -> Table {
    let head = [
        ("token", Align::Left),
        ("id", Align::Left),
        ("status", Align::Left),
        ("scopes", Align::Left),
        ("made", Align::Left),
        ("expires", Align::Left),
    ];
    let mut table = Table::new(head).leaves_out(&["made", "expires"]);
    for token in tokens {
        let scopes = token["scopes"].as_array().into_iter().flatten();
        let scopes: Vec<&str> = scopes.filter_map(Value::as_str).collect();
        table.row([
            text(token, "name").to_owned(),
            text(token, "id").to_owned(),
            text(token, "status").to_owned(),
            scopes.join(" "),
            text(token, "created_at").to_owned(),
            token["expires_at"].as_str().unwrap_or("never").to_owned(),
        ]);
    }
    table
}

fn revoke(args: &RevokeArgs, context: &Context) -> Result<u8, CliError> {
    let token = &args.token;
    runtime()?.block_on(async {
        let desk = Desk::find(&args.origin, context).await?;
        let path = format!("/tokens/{}/revoke", segment(token));
        let revoked = desk.controller().post(&path, &json!({})).await;
        desk.leave().await?;
        revoked
    })?;
    output::talk(&format!("token {token} is revoked"));
    Ok(0)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
