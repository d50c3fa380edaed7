//! `windlass context`

use std::path::PathBuf;

use windlass_net::http::{ControllerAddresses, dialer};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::ColorRole;
use crate::cli::run_source::SavedContext;
use crate::cli::settings::{CLIENT, SettingsLayers};

/// Save the controller that commands use, or show it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Commands that read runs use the first of these that is set:
  --to URL or --store FOLDER
  WINDLASS_URL
  the saved context: windlass/context in XDG_CONFIG_HOME or ~/.config
  `to` under `client` in a settings file: see `windlass config --help`
  the folder .windlass, here or in a parent folder
The token file is --token-file, WINDLASS_TOKEN_FILE, or the one saved with the same URL. Only its
path is saved, and that of --ca. `windlass run` always works on this machine.

Examples:
  windlass context http://build.example:7700 --token-file ~/.windlass-token
  windlass context
  windlass context --none")]
pub(crate) struct ContextArgs {
    /// Save this controller URL
    #[arg(value_name = "URL")]
    url: Option<ControllerAddresses>,
    /// Save this file as the controller's token
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
    /// Save this CA bundle in PEM format for the controller
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,
    /// Delete the saved context
    #[arg(long, conflicts_with = "url")]
    none: bool,
}

/// Saves, deletes or shows the context.
pub(crate) fn run(args: &ContextArgs, context: &CommandContext) -> Result<u8, CliError> {
    if args.none {
        let was = SavedContext::forget()?;
        output::print_message(if was {
            "the saved context is deleted"
        } else {
            "no context was saved"
        });
        return Ok(0);
    }
    let Some(url) = &args.url else { return show(context) };
    let file = args.token_file.as_ref().map(|file| context.folder.join(file));
    if let Some(file) = &file {
        crate::cli::daemon::read_token(file)?;
    }
    let ca = args.ca.as_ref().map(|file| context.folder.join(file));
    dialer(ca.as_deref()).map_err(CliError::usage)?;
    let saved = SavedContext { url: url.to_string(), token_file: file, ca };
    saved.store()?;
    output::print_message(&format!("saved: commands that read runs use {url}"));
    Ok(0)
}

fn show(context: &CommandContext) -> Result<u8, CliError> {
    let saved = SavedContext::load()?;
    let by_variable = SettingsLayers::load(None, context)?.value_from_variable(CLIENT, "to");
    if let Some(url) = by_variable.map(|said| said.values.concat()) {
        let note = format!("WINDLASS_URL={url} takes precedence over the saved context");
        output::print_message(&context.err.paint(ColorRole::Quiet, &note));
    }
    let Some(saved) = saved else {
        output::print_message(
            "no context is saved: commands use the folder .windlass, here or in a parent folder",
        );
        return Ok(0);
    };
    if let Some(file) = &saved.token_file {
        let note = format!("token file: {}", file.display());
        output::print_message(&context.err.paint(ColorRole::Quiet, &note));
    }
    Ok(output::print_data(&saved.url))
}
