//! Queries of a command, one after the other.

use std::sync::Arc;

use tokio::runtime::Runtime;
use windlass_core::id::{RunId, StepIx};
use windlass_core::spec::nearest_name;
use windlass_core::summary::RunSummary;

use super::local_source::LocalRunSource;
use super::origin::{OriginArgs, RunOrigin};
use super::remote_source::RemoteRunSource;
use super::source::{KnownRun, RunSource, RunSourceFuture};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;

/// A source of runs, and the runtime that waits for its answers.
#[derive(Debug)]
pub(crate) struct BlockingRunSource {
    pub(crate) runtime: Runtime,
    pub(crate) source: Arc<dyn RunSource>,
}

impl BlockingRunSource {
    /// Opens the named source, or the store of the current project.
    pub(crate) fn open(args: &OriginArgs, context: &CommandContext) -> Result<Self, CliError> {
        let source: Arc<dyn RunSource> = match args.origin(context)? {
            RunOrigin::Store(folder) => Arc::new(LocalRunSource::open(context, folder)?),
            RunOrigin::Controller(controller) => Arc::new(RemoteRunSource::new(*controller)),
        };
        Ok(Self { runtime: runtime()?, source })
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(&self, answer: RunSourceFuture<'_, T>) -> Result<T, CliError> {
        self.runtime.block_on(answer)
    }

    /// Finds the run that the text refers to.
    pub(crate) fn find(&self, text: &str) -> Result<RunId, CliError> {
        self.wait(self.source.find(text))
    }

    /// Loads the run that the text refers to.
    pub(crate) fn load_run(&self, text: &str) -> Result<KnownRun, CliError> {
        let run = self.find(text)?;
        self.wait(self.source.load_run(run))
    }
}

/// A runtime for a command that waits for a store, a socket or a controller.
pub(crate) fn runtime() -> Result<Runtime, CliError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|error| CliError::unreachable(format!("cannot start threads: {error}")))
}

/// Finds a step of a run by name.
pub(crate) fn step(summary: &RunSummary, name: &str) -> Result<StepIx, CliError> {
    let plan = summary.plan();
    plan.find(name).ok_or_else(|| {
        let hint = nearest_name(name, plan.nodes().map(|node| plan.name(node)));
        let error = CliError::usage(format!("run {} has no step `{name}`", summary.run()));
        match hint {
            Some(hint) => error.hint(format!("did you mean `{hint}`?")),
            None => error.hint(format!("`windlass show {}` lists its steps", summary.run())),
        }
    })
}
