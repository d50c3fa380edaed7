//! `windlass store`

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::project::store_address;
use crate::cli::reading::runtime;
use crate::local::{Copied, StoreAddress, TransferError, transfer};

/// Copy a store to another place
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  windlass store copy sqlite:.windlass postgres://windlass@db.example/windlass
  windlass store copy postgres://windlass@db.example/windlass sqlite:backup")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Copy(CopyArgs),
}

/// Copy runs, events, logs and keys to an empty store, while nobody leads either
#[derive(Debug, clap::Args)]
struct CopyArgs {
    /// What to copy: sqlite:FOLDER or postgres://…
    #[arg(value_name = "FROM")]
    from: String,
    /// Where to: sqlite:FOLDER or postgres://…
    #[arg(value_name = "TO")]
    to: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Copies, and says what was copied.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let Command::Copy(args) = &args.command;
    let address = |text: &str| -> Result<StoreAddress, CliError> {
        Ok(match store_address(text)? {
            StoreAddress::Folder(folder) => StoreAddress::Folder(context.folder.join(folder)),
            shared @ StoreAddress::Postgres { .. } => shared,
        })
    };
    let (from, to) = (address(&args.from)?, address(&args.to)?);
    let copied = runtime()?.block_on(transfer(&from, &to)).map_err(|error| told(&error))?;
    if args.json {
        return Ok(output::data(&as_json(copied).to_string()));
    }
    let Copied { runs, events, journal, logs, bytes, keys } = copied;
    output::talk(&format!("{from} is left as it was; {to} is a store of its own from now on"));
    Ok(output::data(&format!(
        "copied {runs} runs with {events} events, {journal} events of the journal, {logs} logs of \
         {bytes} bytes and {keys} keys"
    )))
}

fn as_json(copied: Copied) -> serde_json::Value {
    let Copied { runs, events, journal, logs, bytes, keys } = copied;
    serde_json::json!({
        "runs": runs, "events": events, "journal_events": journal, "logs": logs, "log_bytes": bytes,
        "keys": keys,
    })
}

fn told(error: &TransferError) -> CliError {
    match error {
        TransferError::Led { .. } | TransferError::Store(_) => {
            CliError::unreachable(error.to_string())
        }
        TransferError::NotEmpty { .. }
        | TransferError::Same { .. }
        | TransferError::Missing { .. } => CliError::usage(error.to_string()),
    }
}
