//! `windlass token`

use serde_json::{Value, json};
use windlass_core::access::AccessScope;
use windlass_core::spec::parse_duration;
use windlass_core::time::Span;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::{self, ColumnAlign, TextTable};
use crate::cli::run_source::{LeaderAccess, OriginArgs, runtime, segment};

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
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TokenCommand {
    Create(TokenCreateArgs),
    List(TokenListArgs),
    Revoke(TokenRevokeArgs),
}

/// Make a token and print it, this once
#[derive(Debug, clap::Args)]
struct TokenCreateArgs {
    /// What it is called; after what it is for if not said
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// What it opens: read, submit, worker or admin; say it again for more
    #[arg(long, value_name = "SCOPE", required = true)]
    scope: Vec<AccessScope>,
    /// When it ends by itself, such as 30d; never if not said
    #[arg(long, value_name = "DURATION", value_parser = lasting)]
    expires: Option<Span>,
    #[command(flatten)]
    origin: OriginArgs,
}

/// List the tokens that are kept, those that are over too
#[derive(Debug, clap::Args)]
struct TokenListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Take a token back: what it has open is closed at once
#[derive(Debug, clap::Args)]
struct TokenRevokeArgs {
    /// Which, by name or id
    #[arg(value_name = "TOKEN")]
    token: String,
    #[command(flatten)]
    origin: OriginArgs,
}

fn lasting(text: &str) -> Result<Span, String> {
    parse_duration(text).map_err(|_| "write it like 12h or 30d".to_owned())
}

/// Asks whoever leads.
pub(crate) fn run(args: &TokenArgs, context: &CommandContext) -> Result<u8, CliError> {
    match &args.command {
        TokenCommand::Create(args) => create(args, context),
        TokenCommand::List(args) => list(args, context),
        TokenCommand::Revoke(args) => revoke(args, context),
    }
}

/// The token alone is data: it can be written to a file.
fn create(args: &TokenCreateArgs, context: &CommandContext) -> Result<u8, CliError> {
    let scopes: Vec<String> = args.scope.iter().map(ToString::to_string).collect();
    let mut wanted = json!({ "scopes": scopes });
    if let Some(name) = &args.name {
        wanted["name"] = name.as_str().into();
    }
    if let Some(expires) = args.expires {
        wanted["expires_in_ms"] = expires.as_millis().into();
    }
    let made: Value = runtime()?.block_on(async {
        let desk = LeaderAccess::find(&args.origin, context).await?;
        let made = desk.controller().post("/tokens", &wanted).await;
        let made = made.and_then(|answered| desk.controller().read(&answered));
        desk.close().await?;
        made
    })?;
    let until = made["expires_at"].as_str().map_or_else(String::new, |at| format!(", until {at}"));
    output::print_message(&format!(
        "token {} ({}) opens {}{until}; it is shown this once",
        text(&made, "name"),
        text(&made, "id"),
        scopes.join(", "),
    ));
    Ok(output::print_data(text(&made, "token")))
}

fn list(args: &TokenListArgs, context: &CommandContext) -> Result<u8, CliError> {
    let tokens: Vec<Value> = runtime()?.block_on(async {
        let desk = LeaderAccess::find(&args.origin, context).await?;
        let tokens = desk.controller().get("/tokens").await;
        desk.close().await?;
        tokens
    })?;
    if args.json {
        return Ok(output::print_json_lines(&tokens));
    }
    if tokens.is_empty() {
        output::print_message(
            "no tokens yet: `windlass token create NAME --scope SCOPE` makes one",
        );
        return Ok(0);
    }
    Ok(output::print_data(&table(&tokens).lines(&context.out).join("\n")))
}

fn table(tokens: &[Value]) -> TextTable {
    let head = [
        ("token", ColumnAlign::Left),
        ("id", ColumnAlign::Left),
        ("status", ColumnAlign::Left),
        ("scopes", ColumnAlign::Left),
        ("made", ColumnAlign::Left),
        ("expires", ColumnAlign::Left),
    ];
    let mut table = TextTable::new(head).leaves_out(&["made", "expires"]);
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

fn revoke(args: &TokenRevokeArgs, context: &CommandContext) -> Result<u8, CliError> {
    let token = &args.token;
    runtime()?.block_on(async {
        let desk = LeaderAccess::find(&args.origin, context).await?;
        let path = format!("/tokens/{}/revoke", segment(token));
        let revoked = desk.controller().post(&path, &json!({})).await;
        desk.close().await?;
        revoked
    })?;
    output::print_message(&format!("token {token} is revoked"));
    Ok(0)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
