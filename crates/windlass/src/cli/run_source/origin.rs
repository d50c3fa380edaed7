//! Where a command looks: at a controller, or into the store of the project that one stands in.
//!
//! The first of these decides: `--to` or `--store`, `WINDLASS_URL`, the context that was saved, a file of settings, the
//! folder `.windlass` here or above. Where it was not an argument and not the folder, one line says so: it must not be a riddle why a run
//! is not in the list.

use std::path::{Path, PathBuf};

use super::cluster_client::ClusterClient;
use super::saved_context::SavedContext;
use crate::cli::context::CommandContext;
use crate::cli::daemon::read_token;
use crate::cli::error::CliError;
use crate::cli::output::{self, ColorRole, quoted};
use crate::cli::project::{self, STORE};
use crate::cli::settings::{CLIENT, ConfigFileArgs, SettingOrigin, SettingValue, SettingsLayers};
use crate::embedded::{is_led, is_of_cluster, leader_client};
use crate::link::http::{ClientCredentials, ControllerAddresses, HttpClient, dialer};

/// Which controller to ask.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ControllerArgs {
    /// Ask this controller, or whoever leads of several with commas between; else `WINDLASS_URL`, `windlass context`, or who leads
    /// here
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// A file with the controller's token; else `WINDLASS_TOKEN_FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A file with the certificates of who vouches for it; else `WINDLASS_CA`
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) file: ConfigFileArgs,
}

/// Where runs are.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct OriginArgs {
    /// Where runs are kept on this machine: a folder
    #[arg(long, value_name = "STORE", conflicts_with = "to")]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) controller: ControllerArgs,
}

/// Where a command looks.
#[derive(Debug)]
pub(crate) enum RunOrigin {
    /// Into the store in a folder.
    Store(PathBuf),
    /// At a controller.
    Controller(Box<ClusterClient>),
}

impl OriginArgs {
    /// What decides, in order.
    pub(crate) fn origin(&self, context: &CommandContext) -> Result<RunOrigin, CliError> {
        match self.named(context)? {
            Some(controller) => Ok(RunOrigin::Controller(Box::new(controller))),
            None => Ok(RunOrigin::Store(folder(self.store.as_deref(), context)?)),
        }
    }

    /// The controller that was named, unless a store was.
    pub(super) fn named(
        &self,
        context: &CommandContext,
    ) -> Result<Option<ClusterClient>, CliError> {
        if self.store.is_some() { Ok(None) } else { self.controller.named(context) }
    }
}

impl ControllerArgs {
    /// The controller, where there has to be one.
    pub(crate) fn controller(&self, context: &CommandContext) -> Result<ClusterClient, CliError> {
        self.named_or_local(context)?.ok_or_else(no_controller_error)
    }

    /// The controller that was named, or that leads here.
    pub(crate) fn named_or_local(
        &self,
        context: &CommandContext,
    ) -> Result<Option<ClusterClient>, CliError> {
        Ok(self.named(context)?.or_else(|| self.here(context)))
    }

    /// The controller that leads the store of the project that one stands in.
    fn here(&self, context: &CommandContext) -> Option<ClusterClient> {
        let folder = folder(None, context).ok()?;
        if !is_of_cluster(&folder) || !is_led(&folder) {
            return None;
        }
        let (client, place) = leader_client(&folder);
        Some(ClusterClient::new(place.into(), client, self.flags()))
    }

    /// The controller that was named, if one was.
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
            let line = format!("asking {places} ({by})");
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

    /// The flags that were given, for commands that are hinted at.
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

/// There is no controller, and there has to be one.
pub(crate) fn no_controller_error() -> CliError {
    CliError::usage("no controller is named, and none leads the store of this folder")
        .hint("--to URL or WINDLASS_URL names one; `windlass context URL` saves one")
}

/// Looks for the files that go with a controller.
struct CredentialFiles<'a> {
    places: &'a ControllerAddresses,
    layers: &'a SettingsLayers,
    context: &'a CommandContext,
}

impl CredentialFiles<'_> {
    /// The file that a setting names. That of the saved context is for its controller alone, and so is that of a file of
    /// settings which names one.
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

/// What is said of a setting of clients beside its flag: by its variable, by what was saved, by a file.
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

fn bad_place(by: &str, error: &crate::link::http::ControllerAddressError) -> CliError {
    let error = CliError::usage(error.to_string());
    match by {
        "--to" => error,
        by => error.hint(format!("it comes from {by}")),
    }
}

/// The folder of the store that was named, or that is found from here.
pub(crate) fn folder(store: Option<&str>, context: &CommandContext) -> Result<PathBuf, CliError> {
    if let Some(store) = store {
        return project::store_folder(store);
    }
    let kept = |folder: &&Path| folder.join(STORE).is_dir();
    let found = context.folder.ancestors().find(kept).map(|folder| folder.join(STORE));
    found.ok_or_else(|| {
        let what = format!("no runs are kept in {} or above it", context.folder.display());
        CliError::usage(what)
            .hint("`windlass run` makes one; `--store` names another place, `--to` a controller")
    })
}

/// Where steps of a run of that store run: beside it, or, if it was put elsewhere, in the project that one stands in.
pub(crate) fn root(store: Option<&str>, context: &CommandContext, folder: &Path) -> PathBuf {
    match (store, folder.parent()) {
        (None, Some(parent)) => parent.to_owned(),
        (Some(_), _) | (None, None) => project::root(&context.folder),
    }
}

/// The flag that names a store, with a blank before it; nothing if it is found without.
pub(crate) fn store_flag(context: &CommandContext, folder: &Path) -> String {
    let stores = context.folder.ancestors().map(|folder| folder.join(STORE));
    let found = stores.into_iter().find(|store| store.is_dir() || store == folder);
    if found.as_deref() == Some(folder) {
        return String::new();
    }
    format!(" --store {}", quoted(&folder.to_string_lossy()))
}
