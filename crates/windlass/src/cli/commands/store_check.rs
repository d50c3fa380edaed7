//! `windlass store check`

use std::path::Path;

use windlass_store::backup::{BackupError, is_backup, verify_backup};

use super::store::{amounts, as_json, store_of, transfer_error};
use super::store_backup::failed;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::run_source::runtime;
use crate::cli::{exit, output};
use crate::embedded::check_store;

/// Read every part of a store or of a backup, and report what is damaged
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The store can be in use. The exit code is 1 if something is damaged.")]
pub(super) struct StoreCheckArgs {
    /// Check this store or backup: a folder, sqlite:FOLDER or postgres://… (default: the store of this project)
    #[arg(value_name = "STORE")]
    store: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks the store and prints the damages.
pub(super) fn run(args: &StoreCheckArgs, context: &CommandContext) -> Result<u8, CliError> {
    let store = store_of(args.store.as_deref(), context)?;
    if let Some(folder) = store.folder().filter(|folder| is_backup(folder)) {
        return check_backup(folder, args.json);
    }
    let check = runtime()?.block_on(check_store(&store)).map_err(|error| transfer_error(&error))?;
    let text = format!("{store} at position {}: read {}", check.position, amounts(check.read));
    let summary = serde_json::json!({ "position": check.position, "read": as_json(check.read) });
    Ok(report(args.json, summary, (&text, &check.findings)))
}

/// Checks a backup against its manifest.
fn check_backup(folder: &Path, is_json: bool) -> Result<u8, CliError> {
    match verify_backup(folder) {
        Ok(manifest) => {
            let (position, begun) = (manifest.position, &manifest.created_at);
            let text = format!("{}: a backup of {begun} at position {position}", folder.display());
            let summary = serde_json::json!({ "position": position, "backup": manifest });
            Ok(report(is_json, summary, (&text, &[])))
        }
        Err(BackupError::Damaged { findings, place }) => {
            let text = format!("{place}: a damaged backup");
            Ok(report(is_json, serde_json::json!({}), (&text, &findings)))
        }
        Err(error @ (BackupError::Missing { .. } | BackupError::Store(_))) => {
            Err(failed(&error.into()))
        }
    }
}

/// Prints the result, and returns the exit code.
fn report(
    is_json: bool,
    mut content: serde_json::Value,
    (text, findings): (&str, &[String]),
) -> u8 {
    let printed = if is_json {
        content["findings"] = serde_json::json!(findings);
        output::print_data(&content.to_string())
    } else {
        let verdict = if findings.is_empty() { "; nothing is damaged" } else { "" };
        output::print_data(&format!("{text}{verdict}"))
    };
    if !is_json {
        for finding in findings {
            output::print_message(finding);
        }
    }
    if findings.is_empty() { printed } else { exit::DAMAGED }
}
