//! `windlass store`

use super::store_backup::{self, StoreBackupArgs, StoreRestoreArgs};
use super::store_check::{self, StoreCheckArgs};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::project::store_address;
use crate::cli::run_source::{folder, runtime};
use crate::embedded::{
    CondemnError, StoreAddress, TransferError, TransferTotals, condemn, transfer,
};

/// Copy, back up, restore or check a store, or condemn a run in it
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  windlass store copy sqlite:.windlass postgres://windlass@db.example/windlass
  windlass store backup /var/backups/windlass-friday
  windlass store restore /var/backups/windlass-friday --store .windlass
  windlass store condemn 1k2v5c3xhq --store postgres://windlass@db.example/windlass")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    Copy(StoreCopyArgs),
    Backup(StoreBackupArgs),
    Restore(StoreRestoreArgs),
    Check(StoreCheckArgs),
    Condemn(StoreCondemnArgs),
}

/// Fail a run that prevents a store from starting; stop its controllers first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The next start fails the run without rebuilding it; other runs continue. Its steps may still run on
workers, so steps with locks or keys wait for the longest lease duration, 10 minutes.")]
struct StoreCondemnArgs {
    /// Condemn this run: its id, or a prefix of it
    #[arg(value_name = "RUN")]
    run: String,
    /// Change this store: a folder, sqlite:FOLDER or postgres://… (default: the store of this project)
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Copy everything to an empty store; stop the controllers of both first
#[derive(Debug, clap::Args)]
struct StoreCopyArgs {
    /// Copy this store: sqlite:FOLDER or postgres://…
    #[arg(value_name = "FROM")]
    from: String,
    /// Write to this store: sqlite:FOLDER or postgres://…
    #[arg(value_name = "TO")]
    to: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(crate) fn run(args: &StoreArgs, context: &CommandContext) -> Result<u8, CliError> {
    match &args.command {
        StoreCommand::Copy(args) => run_copy(args, context),
        StoreCommand::Backup(args) => store_backup::run_backup(args, context),
        StoreCommand::Restore(args) => store_backup::run_restore(args, context),
        StoreCommand::Check(args) => store_check::run(args, context),
        StoreCommand::Condemn(args) => run_condemn(args, context),
    }
}

pub(super) fn address(text: &str, context: &CommandContext) -> Result<StoreAddress, CliError> {
    Ok(match store_address(text)? {
        StoreAddress::Folder(folder) => StoreAddress::Folder(context.folder.join(folder)),
        shared @ StoreAddress::Postgres { .. } => shared,
    })
}

/// Returns the named store, or that of this project.
pub(super) fn store_of(
    named: Option<&str>,
    context: &CommandContext,
) -> Result<StoreAddress, CliError> {
    match named {
        Some(store) => address(store, context),
        None => Ok(StoreAddress::Folder(folder(None, context)?)),
    }
}

/// Condemns the run and reports it.
fn run_condemn(args: &StoreCondemnArgs, context: &CommandContext) -> Result<u8, CliError> {
    let store = store_of(args.store.as_deref(), context)?;
    let run = runtime()?.block_on(condemn(&store, &args.run)).map_err(|error| match error {
        CondemnError::Led { .. } | CondemnError::Store(_) => {
            CliError::unreachable(error.to_string())
        }
        CondemnError::Missing { .. }
        | CondemnError::NoSuchRun { .. }
        | CondemnError::Ambiguous { .. } => CliError::usage(error.to_string()),
    })?;
    if args.json {
        let object = serde_json::json!({ "run": run.to_string(), "condemned": true });
        return Ok(output::print_data(&object.to_string()));
    }
    output::print_message(&format!(
        "the next start of {store} fails run {run}; steps with locks or keys then wait for 10 minutes"
    ));
    Ok(output::print_data(&format!("condemned {run}")))
}

/// Copies the store and reports the amounts.
fn run_copy(args: &StoreCopyArgs, context: &CommandContext) -> Result<u8, CliError> {
    let (from, to) = (address(&args.from, context)?, address(&args.to, context)?);
    let copied =
        runtime()?.block_on(transfer(&from, &to)).map_err(|error| transfer_error(&error))?;
    if args.json {
        return Ok(output::print_data(&as_json(copied).to_string()));
    }
    output::print_message(&format!(
        "{from} is unchanged; {to} is an independent store from now on"
    ));
    if copied.damaged_objects > 0 {
        output::print_message(&damaged_objects(copied.damaged_objects));
    }
    Ok(output::print_data(&format!("copied {}", amounts(copied))))
}

/// Lists the amounts for people.
pub(super) fn amounts(copied: TransferTotals) -> String {
    let TransferTotals { runs, events, journal, logs, bytes, keys, .. } = copied;
    let objects = match (copied.objects, copied.object_bytes) {
        (0, _) => String::new(),
        (objects, bytes) => format!(", {objects} objects of {bytes} bytes"),
    };
    format!(
        "{runs} runs with {events} events, {journal} journal events, {logs} logs of {bytes} \
         bytes{objects} and {keys} keys"
    )
}

/// Warns that objects were left out.
pub(super) fn damaged_objects(count: u64) -> String {
    format!(
        "{count} objects are damaged in the store and were left out: the steps that made them store them again when they \
         run again"
    )
}

pub(super) fn as_json(copied: TransferTotals) -> serde_json::Value {
    let TransferTotals { runs, events, journal, logs, bytes, keys, .. } = copied;
    serde_json::json!({
        "runs": runs, "events": events, "journal_events": journal, "logs": logs, "log_bytes": bytes,
        "keys": keys, "objects": copied.objects, "object_bytes": copied.object_bytes,
    })
}

pub(super) fn transfer_error(error: &TransferError) -> CliError {
    match error {
        TransferError::Led { .. } | TransferError::Object(_) | TransferError::Store(_) => {
            CliError::unreachable(error.to_string())
        }
        TransferError::NotEmpty { .. }
        | TransferError::Same { .. }
        | TransferError::Objects { .. }
        | TransferError::Missing { .. } => CliError::usage(error.to_string()),
    }
}
