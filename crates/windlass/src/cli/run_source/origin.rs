//! The source of a command: a controller, or the store of the current project.
//!
//! The first of these applies: `--to` or `--store`, `WINDLASS_URL`, the saved context, a settings file, the folder
//! `.windlass` here or in a parent folder. If it is neither an argument nor the folder, a line names it, so that a
//! missing run is explained.

use std::path::{Path, PathBuf};

use windlass_net::http::{ClientCredentials, ControllerAddresses, HttpClient, dialer};

use super::cluster_client::ClusterClient;
use super::saved_context::SavedContext;
use crate::cli::context::CommandContext;
use crate::cli::daemon::read_token;
use crate::cli::error::CliError;
use crate::cli::output::{ColorRole, quoted};
use crate::cli::project::STORE;
use crate::cli::settings::{CLIENT, ConfigFileArgs, SettingOrigin, SettingValue, SettingsLayers};
use crate::cli::{output, project};
use crate::embedded::{is_led, is_of_cluster, leader_client};

/// The controller to use.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ControllerArgs {
    /// Use this controller, or the leader among several separated by commas (default: `WINDLASS_URL`, the saved
    /// context, or the leader of this folder's store)
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// Read the controller's token from this file (default: `WINDLASS_TOKEN_FILE`)
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Trust the controller by this CA bundle in PEM format (default: `WINDLASS_CA`, or public root certificates)
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) file: ConfigFileArgs,
}

/// The source of runs.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct OriginArgs {
    /// Use runs in this folder on this machine
    #[arg(long, value_name = "STORE", conflicts_with = "to")]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) controller: ControllerArgs,
}

/// The source of a command.
#[derive(Debug)]
pub(crate) enum RunOrigin {
    /// The store in a folder.
    Store(PathBuf),
    /// A controller.
    Controller(Box<ClusterClient>),
}

impl OriginArgs {
    /// Chooses the source, in order of precedence.
    pub(crate) fn origin(&self, context: &CommandContext) -> Result<RunOrigin, CliError> {
        match self.named(context)? {
            Some(controller) => Ok(RunOrigin::Controller(Box::new(controller))),
            None => Ok(RunOrigin::Store(folder(self.store.as_deref(), context)?)),
        }
    }

    /// The named controller, unless a store was named.
    pub(super) fn named(
        &self,
        context: &CommandContext,
    ) -> Result<Option<ClusterClient>, CliError> {
        if self.store.is_some() { Ok(None) } else { self.controller.named(context) }
    }
}

impl ControllerArgs {
    /// The controller, for commands that require one.
    pub(crate) fn controller(&self, context: &CommandContext) -> Result<ClusterClient, CliError> {
        self.named_or_local(context)?.ok_or_else(no_controller_error)
    }

    /// The named controller, or the one that leads here.
    pub(crate) fn named_or_local(
        &self,
        context: &CommandContext,
    ) -> Result<Option<ClusterClient>, CliError> {
        Ok(self.named(context)?.or_else(|| self.here(context)))
    }

    /// The controller that leads the store of the current project.
    fn here(&self, context: &CommandContext) -> Option<ClusterClient> {
        let folder = folder(None, context).ok()?;
        if !is_of_cluster(&folder) || !is_led(&folder) {
            return None;
        }
        let (client, address) = leader_client(&folder);
        Some(ClusterClient::new(address.into(), client, self.flags()))
    }

    /// The named controller, if any.
    fn named(&self, context: &CommandContext) -> Result<Option<ClusterClient>, CliError> {
        let layers = SettingsLayers::load(self.file.config.as_deref(), context)?;
        let (url, by) = if let Some(url) = &self.to {
            (url.clone(), "--to".to_owned())
        } else if let Some(said) = client_setting(&layers, "to")? {
            (said.values.concat(), said.origin.to_string())
        } else {
            return Ok(None);
        };
        let places: ControllerAddresses = url.parse().map_err(|error| bad_place(&by, &error))?;
        if self.to.is_none() {
            let line = format!("using {places} ({by})");
            output::print_message(&context.err.paint(ColorRole::Quiet, &line));
        }
        let files = CredentialFiles { places: &places, layers: &layers, context };
        let token = files.named("token-file", self.token_file.as_deref());
        let token = token.map(|file| read_token(&file)).transpose()?;
        let dial = dialer(files.named("ca", self.ca.as_deref()).as_deref());
        let dial = dial.map_err(CliError::usage)?;
        let client = HttpClient::new(dial, ClientCredentials { token, worker: None });
        Ok(Some(ClusterClient::new(places, client, self.flags())))
    }

    /// The given flags, for command hints.
    fn flags(&self) -> String {
        let to = self.to.iter().map(|to| format!(" --to {}", quoted(to)));
        let flag = |flag: &str, file: &Option<PathBuf>| {
            let file = file.as_ref()?.to_string_lossy();
            Some(format!(" {flag} {}", quoted(&file)))
        };
        let token = flag("--token-file", &self.token_file);
        let files = [token, flag("--ca", &self.ca), flag("--config", &self.file.config)];
        to.chain(files.into_iter().flatten()).collect()
    }
}

/// The error for a required controller that is missing.
pub(crate) fn no_controller_error() -> CliError {
    CliError::usage("no controller is named, and none leads the store of this folder")
        .hint("name one with --to URL or WINDLASS_URL, or save one with `windlass context URL`")
}

/// Finds the credential files of a controller.
struct CredentialFiles<'a> {
    places: &'a ControllerAddresses,
    layers: &'a SettingsLayers,
    context: &'a CommandContext,
}

impl CredentialFiles<'_> {
    /// The file of a setting. A file of the saved context applies only to its controller; so does one of a settings
    /// file that names a controller.
    fn named(&self, setting: &str, given: Option<&Path>) -> Option<PathBuf> {
        let is_it = |url: &str| url.parse().as_ref() == Ok(self.places);
        let given = || given.map(|file| self.context.folder.join(file));
        let value = |said: SettingValue| PathBuf::from(said.values.concat());
        let by_variable = || self.layers.value_from_variable(CLIENT, setting).map(value);
        let saved = || {
            let saved = SavedContext::load().ok().flatten().filter(|saved| is_it(&saved.url))?;
            saved.setting(setting).map(PathBuf::from)
        };
        let by_file = || {
            let to = self.layers.value_from_file(CLIENT, "to");
            let its = to.is_none_or(|to| is_it(&to.values.concat()));
            self.layers.value_from_file(CLIENT, setting).filter(|_| its).map(value)
        };
        given().or_else(by_variable).or_else(saved).or_else(by_file)
    }
}

/// A client setting without its flag: from its variable, the saved context, or a file.
pub(crate) fn client_setting(
    layers: &SettingsLayers,
    setting: &str,
) -> Result<Option<SettingValue>, CliError> {
    if let Some(said) = layers.value_from_variable(CLIENT, setting) {
        return Ok(Some(said));
    }
    let saved = SavedContext::load()?.and_then(|saved| saved.setting(setting));
    let saved =
        saved.map(|value| SettingValue { values: vec![value], origin: SettingOrigin::Saved });
    Ok(saved.or_else(|| layers.value_from_file(CLIENT, setting)))
}

fn bad_place(by: &str, error: &windlass_net::http::ControllerAddressError) -> CliError {
    let error = CliError::usage(error.to_string());
    match by {
        "--to" => error,
        by => error.hint(format!("it comes from {by}")),
    }
}

/// The folder of the named store, or the nearest one.
pub(crate) fn folder(store: Option<&str>, context: &CommandContext) -> Result<PathBuf, CliError> {
    if let Some(store) = store {
        return project::store_folder(store);
    }
    let kept = |folder: &&Path| folder.join(STORE).is_dir();
    let found = context.folder.ancestors().find(kept).map(|folder| folder.join(STORE));
    found.ok_or_else(|| {
        let what = format!("no runs are stored in {} or its parent folders", context.folder.display());
        CliError::usage(what)
            .hint("create one with `windlass run`, or name another store with --store or a controller with --to")
    })
}

/// The folder for steps of that store's runs: beside it or, for a store elsewhere, the current project.
pub(crate) fn root(store: Option<&str>, context: &CommandContext, folder: &Path) -> PathBuf {
    match (store, folder.parent()) {
        (None, Some(parent)) => parent.to_owned(),
        (Some(_), _) | (None, None) => project::root(&context.folder),
    }
}

/// The flag of a store with a leading blank; empty if it is the default.
pub(crate) fn store_flag(context: &CommandContext, folder: &Path) -> String {
    let stores = context.folder.ancestors().map(|folder| folder.join(STORE));
    let found = stores.into_iter().find(|store| store.is_dir() || store == folder);
    if found.as_deref() == Some(folder) {
        return String::new();
    }
    format!(" --store {}", quoted(&folder.to_string_lossy()))
}
