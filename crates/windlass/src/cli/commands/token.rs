//! `windlass token`

use serde_json::{Value, json};
use windlass_core::access::AccessScope;
use windlass_core::json_form::AsWord;
use windlass_core::spec::parse_duration;
use windlass_core::time::Span;
use windlass_link::http::{CreateTokenBody, CreatedTokenBody};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::{ColumnAlign, TextTable};
use crate::cli::run_source::{LeaderAccess, OriginArgs, runtime, segment};

/// Create, list and revoke access tokens of a controller
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
Without --to, the command uses the store in this folder: through its controller if one runs, or
directly, so that the first token can be created before `windlass serve`. Once a token exists, every
request needs one.

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

/// Create a token and print it; it cannot be shown again
#[derive(Debug, clap::Args)]
struct TokenCreateArgs {
    /// Name the token (default: after its scopes)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Grant this scope: read, submit, worker or admin; can be repeated
    #[arg(long, value_name = "SCOPE", required = true)]
    scope: Vec<AccessScope>,
    /// Let the token expire after this long, such as 30d (default: never)
    #[arg(long, value_name = "DURATION", value_parser = lasting)]
    expires: Option<Span>,
    #[command(flatten)]
    origin: OriginArgs,
}

/// List all stored tokens, including expired and revoked ones
#[derive(Debug, clap::Args)]
struct TokenListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Revoke a token and close its open connections
#[derive(Debug, clap::Args)]
struct TokenRevokeArgs {
    /// Revoke this token, by name or id
    #[arg(value_name = "TOKEN")]
    token: String,
    #[command(flatten)]
    origin: OriginArgs,
}

fn lasting(text: &str) -> Result<Span, String> {
    parse_duration(text).map_err(|_| "write it like 12h or 30d".to_owned())
}

/// Runs the subcommand on the leader.
pub(crate) fn run(args: &TokenArgs, context: &CommandContext) -> Result<u8, CliError> {
    match &args.command {
        TokenCommand::Create(args) => create(args, context),
        TokenCommand::List(args) => list(args, context),
        TokenCommand::Revoke(args) => revoke(args, context),
    }
}

/// Only the token goes to stdout, so that it can be written to a file.
fn create(args: &TokenCreateArgs, context: &CommandContext) -> Result<u8, CliError> {
    let scopes: Vec<String> = args.scope.iter().map(ToString::to_string).collect();
    let wanted = CreateTokenBody {
        name: args.name.clone(),
        scopes: args.scope.iter().copied().map(AsWord).collect(),
        expires_in_ms: args.expires.map(Span::as_millis),
    };
    let made: CreatedTokenBody = runtime()?.block_on(async {
        let leader_access = LeaderAccess::find(&args.origin, context).await?;
        let made = leader_access.controller().post("/tokens", &wanted).await;
        let made = made.and_then(|answered| leader_access.controller().read(&answered));
        leader_access.close().await?;
        made
    })?;
    let until = made.expires_at.map_or_else(String::new, |at| format!(", until {at}"));
    output::print_message(&format!(
        "token {} ({}) has the scopes {}{until}; it cannot be shown again",
        made.name,
        made.id.0,
        scopes.join(", "),
    ));
    Ok(output::print_data(&made.token))
}

fn list(args: &TokenListArgs, context: &CommandContext) -> Result<u8, CliError> {
    let tokens: Vec<Value> = runtime()?.block_on(async {
        let leader_access = LeaderAccess::find(&args.origin, context).await?;
        let tokens = leader_access.controller().get("/tokens").await;
        leader_access.close().await?;
        tokens
    })?;
    if args.json {
        return Ok(output::print_json_lines(&tokens));
    }
    if tokens.is_empty() {
        output::print_message(
            "no tokens yet: create one with `windlass token create NAME --scope SCOPE`",
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
        let leader_access = LeaderAccess::find(&args.origin, context).await?;
        let path = format!("/tokens/{}/revoke", segment(token));
        let revoked = leader_access.controller().post(&path, &json!({})).await;
        leader_access.close().await?;
        revoked
    })?;
    output::print_message(&format!("token {token} is revoked"));
    Ok(0)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
