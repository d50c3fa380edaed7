//! What commands that read runs have in common: finding the store, and the run that a person means.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::sleep;
use windlass_core::id::RunId;
use windlass_core::summary::Summary;
use windlass_core::time::Time;

use super::context::Context;
use super::error::CliError;
use super::output::{Hints, quoted};
use super::project::{self, STORE};
use crate::archive::FindError;
use crate::local::{Records, Stores, is_led};

/// Where runs are kept.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// Where runs are kept: a folder
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
}

/// A store that is read, beside whoever writes to it.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) runtime: Runtime,
    pub(crate) stores: Stores,
    pub(crate) records: Records,
    pub(crate) folder: PathBuf,
    /// Whether somebody worked on what was not over yet when it was read.
    pub(crate) led: bool,
    /// Commands about its runs.
    pub(crate) hints: Hints,
}

impl Reading {
    /// Opens the store that was named, or the one of the project that one stands in.
    pub(crate) fn open(args: &StoreArgs, context: &Context) -> Result<Self, CliError> {
        let folder = folder(args, context)?;
        let stores = Stores::read(&folder)?;
        let runtime = runtime()?;
        let led = is_led(&folder);
        let records = runtime.block_on(Records::read(stores.clone()))?;
        let hints = Hints { run: None, store: Some(store_flag(context, &folder)) };
        Ok(Self { runtime, stores, records, folder, led, hints })
    }

    /// Waits a moment before the next look.
    pub(crate) fn pause(&self, moment: Duration) {
        self.runtime.block_on(async { sleep(moment).await });
    }

    /// The run that a person means.
    pub(crate) fn find(&self, text: &str) -> Result<RunId, CliError> {
        Ok(self.runtime.block_on(self.records.find(text))?)
    }

    /// Whether somebody works on what is not over yet. Asked before the records are read: who has ended since has left
    /// nothing open.
    pub(crate) fn is_led(&self) -> bool {
        is_led(&self.folder)
    }

    /// A run as an object, which says whether nobody works on it though it is not over.
    pub(crate) fn to_json(&self, summary: &Summary, now: Time) -> serde_json::Value {
        let mut run = summary.to_json(now);
        run["interrupted"] = (!self.led && !summary.status().is_terminal()).into();
        run
    }

    /// What became of the run that a person means.
    pub(crate) fn summary(&self, text: &str) -> Result<Summary, CliError> {
        let run = self.find(text)?;
        let summary = self.runtime.block_on(self.records.summary(run))?;
        summary.ok_or_else(|| CliError::usage(format!("there is no run {run} any more")))
    }
}

impl From<FindError> for CliError {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Store(error) => error.into(),
            other => Self::usage(other.to_string()),
        }
    }
}

/// A runtime for a command that waits for a store or a socket.
pub(crate) fn runtime() -> Result<Runtime, CliError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|error| CliError::unreachable(format!("no threads: {error}")))
}

/// Where steps of a run of that store run: beside it, or, if it was put elsewhere, in the project that one stands in.
pub(crate) fn root(args: &StoreArgs, context: &Context, folder: &Path) -> PathBuf {
    match (&args.store, folder.parent()) {
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

/// The folder of the store.
pub(crate) fn folder(args: &StoreArgs, context: &Context) -> Result<PathBuf, CliError> {
    if let Some(store) = &args.store {
        return Ok(store.trim_start_matches("sqlite:").into());
    }
    let kept = |folder: &&Path| folder.join(STORE).is_dir();
    let found = context.folder.ancestors().find(kept).map(|folder| folder.join(STORE));
    found.ok_or_else(|| {
        let what = format!("no runs are kept in {} or above it", context.folder.display());
        CliError::usage(what).hint("`windlass run` makes one; `--store` names another place")
    })
}

/// The step of a run that a person means.
pub(crate) fn step(summary: &Summary, name: &str) -> Result<windlass_core::id::StepIx, CliError> {
    let plan = summary.plan();
    plan.find(name).ok_or_else(|| {
        let names = plan.nodes().map(|node| plan.name(node));
        let hint = windlass_core::spec::nearest(name, names);
        let error = CliError::usage(format!("run {} has no step `{name}`", summary.run()));
        match hint {
            Some(hint) => error.hint(format!("did you mean `{hint}`?")),
            None => error.hint(format!("`windlass show {}` lists its steps", summary.run())),
        }
    })
}

/// Nobody works on a run that is not over.
pub(crate) fn interrupted(run: RunId, hints: &Hints) -> CliError {
    let error = CliError::unreachable(format!("run {run} was interrupted: nobody works on it now"));
    match hints.resume(run) {
        Some(resume) => error.hint(format!("`{resume}` goes on with it")),
        None => error,
    }
}
