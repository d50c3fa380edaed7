//! Where a command looks: at a controller, or into the store of the project that one stands in.
//!
//! The first of these decides: `--to` or `--store`, `WINDLASS_URL`, the context that was saved, the folder `.windlass`
//! here or above. Where it was not an argument and not the folder, one line says so: it must not be a riddle why a run
//! is not in the list.

use std::path::{Path, PathBuf};

use super::controller::Controller;
use super::saved::Saved;
use crate::cli::context::Context;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::output::{self, Ink, quoted};
use crate::cli::project::{self, STORE};
use crate::cli::serving::read_token;
use crate::link::http::Place;

/// Which controller to ask.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ControllerArgs {
    /// Ask this controller; else `WINDLASS_URL` or `windlass context` says whom
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// A file with the controller's token; else `WINDLASS_TOKEN_FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
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
pub(crate) enum Origin {
    /// Into the store in a folder.
    Store(PathBuf),
    /// At a controller.
    Controller(Controller),
}

impl OriginArgs {
    /// What decides, in order.
    pub(crate) fn origin(&self, context: &Context) -> Result<Origin, CliError> {
        let store = self.store.as_deref();
        let named = if store.is_some() { None } else { self.controller.named(context)? };
        match named {
            Some(controller) => Ok(Origin::Controller(controller)),
            None => Ok(Origin::Store(folder(store, context)?)),
        }
    }
}

impl ControllerArgs {
    /// The controller, where there has to be one.
    pub(crate) fn controller(&self, context: &Context) -> Result<Controller, CliError> {
        self.named(context)?.ok_or_else(|| {
            CliError::usage("no controller is named")
                .hint("--to URL or WINDLASS_URL names one; `windlass context URL` saves one")
        })
    }

    /// The controller that was named, if one was.
    fn named(&self, context: &Context) -> Result<Option<Controller>, CliError> {
        let (url, by) = if let Some(url) = &self.to {
            (url.clone(), "--to")
        } else if let Some(url) = environment::url() {
            (url, "WINDLASS_URL")
        } else if let Some(saved) = Saved::load()? {
            (saved.url, "saved context")
        } else {
            return Ok(None);
        };
        let place: Place = url.parse().map_err(|error| bad_place(by, &error))?;
        if self.to.is_none() {
            let line = format!("asking {place} ({by})");
            output::talk(&context.err.paint(Ink::Quiet, &line));
        }
        let token = self.token(&place, context)?;
        Ok(Some(Controller::new(place, token, self.flags())))
    }

    /// The flags that were given, for commands that are hinted at.
    fn flags(&self) -> String {
        let to = self.to.iter().map(|to| format!(" --to {}", quoted(to)));
        let file = self.token_file.iter().map(|file| file.to_string_lossy());
        to.chain(file.map(|file| format!(" --token-file {}", quoted(&file)))).collect()
    }

    /// The token that is shown. That of the saved context goes to its controller alone.
    fn token(&self, place: &Place, context: &Context) -> Result<Option<String>, CliError> {
        let given = self.token_file.as_ref().map(|file| context.folder.join(file));
        let saved = || {
            let saved = Saved::load().ok().flatten()?;
            saved.token_file.filter(|_| saved.url.parse().as_ref() == Ok(place))
        };
        let file = given.or_else(environment::token_file).or_else(saved);
        file.map(|file| read_token(&file)).transpose()
    }
}

fn bad_place(by: &str, error: &crate::link::http::BadPlace) -> CliError {
    let error = CliError::usage(error.to_string());
    match by {
        "--to" => error,
        by => error.hint(format!("it comes from {by}")),
    }
}

/// The folder of the store that was named, or that is found from here.
pub(crate) fn folder(store: Option<&str>, context: &Context) -> Result<PathBuf, CliError> {
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
pub(crate) fn root(store: Option<&str>, context: &Context, folder: &Path) -> PathBuf {
    match (store, folder.parent()) {
        (None, Some(parent)) => parent.to_owned(),
        (Some(_), _) | (None, None) => project::root(&context.folder),
    }
}

/// The flag that names a store, with a blank before it; nothing if it is found without.
pub(crate) fn store_flag(context: &Context, folder: &Path) -> String {
    let stores = context.folder.ancestors().map(|folder| folder.join(STORE));
    let found = stores.into_iter().find(|store| store.is_dir() || store == folder);
    if found.as_deref() == Some(folder) {
        return String::new();
    }
    format!(" --store {}", quoted(&folder.to_string_lossy()))
}
