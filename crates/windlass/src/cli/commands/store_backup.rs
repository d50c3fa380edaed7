//! `windlass store backup` and `windlass store restore`

use std::path::PathBuf;

use windlass_store::backup::BackupError;

use super::store::{address, damaged_objects, store_of, transfer_error};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::runtime;
use crate::embedded::{StoreBackupError, backup, restore};

/// Back up a store to a new folder, while it is in use
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The backup holds the events up to one position, and all runs, logs and objects that they name. The
folder appears when it is whole. `windlass store check DEST` verifies it.")]
pub(super) struct StoreBackupArgs {
    /// Write to this folder, which must not exist or be empty
    #[arg(value_name = "DEST")]
    destination: PathBuf,
    /// Back up this store: a folder, sqlite:FOLDER or postgres://… (default: the store of this project)
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Restore a backup to an empty store
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every byte of the backup is verified first. The next controller treats what happened after the
backup as lost: steps with locks or keys wait for 10 minutes, the longest lease duration.")]
pub(super) struct StoreRestoreArgs {
    /// Restore this backup
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// Write to this store: a folder, sqlite:FOLDER or postgres://…
    #[arg(long, value_name = "ADDRESS")]
    store: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Backs the store up and reports the position.
pub(super) fn run_backup(args: &StoreBackupArgs, context: &CommandContext) -> Result<u8, CliError> {
    let store = store_of(args.store.as_deref(), context)?;
    let destination = context.folder.join(&args.destination);
    let done = runtime()?.block_on(backup(&store, &destination)).map_err(|error| failed(&error))?;
    if done.damaged_objects > 0 {
        output::print_message(&damaged_objects(done.damaged_objects));
    }
    if args.json {
        return Ok(output::print_data(&serde_json::json!(done.manifest).to_string()));
    }
    let (position, runs) = (done.manifest.position, done.manifest.counts.runs);
    Ok(output::print_data(&format!(
        "backed up {store} at position {position} with {runs} archived runs to {}",
        args.destination.display()
    )))
}

/// Restores the backup and reports the position.
pub(super) fn run_restore(
    args: &StoreRestoreArgs,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let (source, store) = (context.folder.join(&args.source), address(&args.store, context)?);
    let manifest = runtime()?.block_on(restore(&source, &store)).map_err(|error| failed(&error))?;
    if args.json {
        return Ok(output::print_data(&serde_json::json!(manifest).to_string()));
    }
    output::print_message(
        "events after the backup are lost: steps with locks or keys wait for 10 minutes after the next start",
    );
    let (position, begun) = (manifest.position, &manifest.created_at);
    Ok(output::print_data(&format!("restored {store} at position {position} of {begun}")))
}

/// Chooses the exit code: a wrong argument, or a store that cannot be used.
pub(super) fn failed(error: &StoreBackupError) -> CliError {
    match error {
        StoreBackupError::Transfer(error) => transfer_error(error),
        StoreBackupError::Taken { .. } | StoreBackupError::Backup(BackupError::Missing { .. }) => {
            CliError::usage(error.to_string())
        }
        StoreBackupError::Busy { .. }
        | StoreBackupError::Space { .. }
        | StoreBackupError::Backup(BackupError::Damaged { .. } | BackupError::Store(_)) => {
            CliError::unreachable(error.to_string())
        }
    }
}
