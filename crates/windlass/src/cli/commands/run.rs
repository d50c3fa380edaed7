//! `windlass run`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::engine::{RunOptions, UnplaceablePolicy};
use windlass_core::expand::ExpandedPipeline;
use windlass_core::plan::{Plan, StepSpec};
use windlass_core::problem::ProblemSeverity;
use windlass_core::time::Span;
use windlass_store::journal::SqliteJournal;

use crate::cli::args::ParamArg;
use crate::cli::ci_instances::{
    InstanceArgs, InstanceJoinOptions, InstanceRole, LeaderInstanceOptions, WorkerInstanceOptions,
};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::local_run::{LocalRunKind, LocalRunOptions};
use crate::cli::local_run_args::{LocalRunArgs, read_duration};
use crate::cli::output::{ColorRole, CommandHints, quoted};
use crate::cli::pipeline_args::PipelineArgs;
use crate::cli::project::{PipelineTarget, STORE, store_address};
use crate::cli::{ci_instances, local_run, logging, output, run_source};
use crate::embedded::StoreAddress;

/// Run a pipeline on this machine
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "\
The first Ctrl-C cancels the run and lets steps clean up, the second kills them. `t` shows running
and waiting steps.

Examples:
  windlass run
  windlass run test                  `test` and its needs
  windlass run ship.yml -p channel=stable --jobs 8
  windlass run --resume              continue an interrupted run")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    part: PipelineArgs,
    /// After a failure, run the steps that do not depend on it
    #[arg(long)]
    keep_going: bool,
    /// Run idempotent steps (`idempotent:`) even if they are already done
    #[arg(long)]
    again: bool,
    /// Fail a step that this machine cannot run, instead of skipping it
    #[arg(long)]
    no_skip: bool,
    /// Show the plan without running it
    #[arg(long)]
    dry_run: bool,
    /// Continue this interrupted run (default: the newest one, or the newest one of FILE)
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    resume: Option<String>,
    /// Cancel the run after this long, such as 90s or 2h
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    timeout: Option<Span>,
    /// Keep runs in this folder, or `memory` to keep none (default: .windlass)
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Start although the store in a folder has lost acknowledged events; locks wait 10m for lost leases to expire
    #[arg(long)]
    accept_lost_history: bool,
    #[command(flatten)]
    how: LocalRunArgs,
    #[command(flatten)]
    instance: InstanceArgs,
}

/// Plans the run and executes it.
pub(crate) fn run(args: &RunArgs, context: &CommandContext) -> Result<u8, CliError> {
    let target = args.part.target();
    let unavailable = if args.dry_run { ProblemSeverity::Note } else { ProblemSeverity::Error };
    let loaded = LoadedPipeline::read(context, target.file.as_deref(), unavailable);
    let loaded = loaded.and_then(|loaded| loaded.select(&args.part.selection()));
    if args.dry_run {
        return super::plan::show(&loaded?, &args.part.param, context, args.how.json);
    }
    logging::install_default();
    let planned =
        loaded.and_then(|loaded| Ok((loaded.plan(&args.part.param)?, loaded.project.root)));
    let (expanded, root) = match planned {
        Ok((expanded, root)) => (Some(expanded), root),
        // A resumed run has its own plan.
        Err(_) if args.resume.is_some() && target.file.is_none() => (None, args.root(context)?),
        Err(error) => return Err(error),
    };
    let leading = match args.instance.part(context)? {
        InstanceRole::Alone => None,
        InstanceRole::StandIn { total } => {
            warn_stand_in(context, total);
            None
        }
        InstanceRole::Leader(leading) => {
            Some(Arc::new(LeaderInstanceOptions { unplaceable: args.unplaceable(), ..*leading }))
        }
        InstanceRole::Worker(meets) => return args.worker_instance(*meets, root, context),
    };
    let store = args.store(&root)?;
    if let (Some(expanded), Some(folder), Some(_)) = (&expanded, &store, &args.store) {
        warn_other_store(context, folder, &expanded.plan);
    }
    local_run::run(LocalRunOptions {
        hints: args.hints(&target, context, store.as_deref()),
        root,
        store,
        accept_lost_history: args.accept_lost_history,
        kind: args.run_kind(expanded, leading.as_deref()),
        leading,
        slots: args.how.slots(),
        labels: context.compiled.labels(&args.how.labels()),
        compiled: context.compiled.clone(),
        named: target.steps,
        mode: args.how.mode(),
        json: args.how.json,
        junit: args.how.junit.clone(),
        collector: args.how.collector(),
        caps: context.err,
    })
}

/// Warns once for each store that its locks and keys are its own.
fn warn_other_store(context: &CommandContext, folder: &Path, plan: &Plan) {
    let excludes = |spec: &StepSpec| !spec.locks.is_empty() || spec.idempotency.is_some();
    if SqliteJournal::exists(folder) || !plan.specs().iter().any(excludes) {
        return;
    }
    let what = "locks and idempotency keys are per store: runs in other stores do not respect those of this run";
    let hint = "leave out --store to share them with other runs of this project";
    let label = context.err.paint(ColorRole::Warn, "warning:");
    output::print_message(&format!("{label} {what}; {hint}"));
}

/// Warns that no other machine takes part.
fn warn_stand_in(context: &CommandContext, total: u32) {
    let what =
        format!("instance 0 of {total} has no link: no instance can join, everything runs here");
    let hint = "set the link with --link URL or WINDLASS_LINK";
    output::print_message(&format!(
        "{} {what}; {hint}",
        context.err.paint(ColorRole::Warn, "warning:")
    ));
}

impl RunArgs {
    /// Commands about the run. A resumed run may have had other params: only its own plan has them.
    fn hints(
        &self,
        target: &PipelineTarget,
        context: &CommandContext,
        store: Option<&Path>,
    ) -> CommandHints {
        let file = target.file.iter().map(|file| quoted(&file.to_string_lossy()));
        let param = |it: &ParamArg| format!("-p {}", quoted(&format!("{}={}", it.name, it.value)));
        let labels = self.how.label.iter().map(|label| format!("--label {}", quoted(label)));
        let stores = self.store.iter().map(|store| format!("--store {}", quoted(store)));
        let words = file.chain(self.part.param.iter().map(param)).chain(labels).chain(stores);
        let run = words.fold("windlass run".to_owned(), |line, word| format!("{line} {word}"));
        CommandHints {
            run: self.resume.is_none().then_some(run),
            store: store.map(|store| run_source::store_flag(context, store)),
            controller: None,
        }
    }

    /// Works for the instance that leads.
    fn worker_instance(
        &self,
        meets: InstanceJoinOptions,
        root: PathBuf,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        ci_instances::work(WorkerInstanceOptions {
            join: meets,
            state_folder: root.join(STORE).join("workers"),
            root,
            slots: self.how.slots(),
            labels: context.compiled.labels(&self.how.labels()),
            compiled: context.compiled.clone(),
        })
    }

    /// The folder in which steps of a run without a file run.
    fn root(&self, context: &CommandContext) -> Result<PathBuf, CliError> {
        let store = self.store.as_deref();
        Ok(run_source::root(store, context, &run_source::folder(store, context)?))
    }

    /// The folder of the run's store, unless it is kept in memory.
    fn store(&self, root: &Path) -> Result<Option<PathBuf>, CliError> {
        let Some(named) = self.store.as_deref() else { return Ok(Some(root.join(STORE))) };
        if named == "memory" {
            return Ok(None);
        }
        match store_address(named)? {
            StoreAddress::Folder(folder) => Ok(Some(folder)),
            shared @ StoreAddress::Postgres { .. } => {
                let what = format!("`run` keeps its store in a folder, and {shared} is a database");
                Err(CliError::usage(what).hint(
                    "start a controller with `windlass serve --store postgres://…` and submit the run: `windlass submit FILE --to URL --wait`",
                ))
            }
        }
    }

    /// The policy for a step that this machine cannot run.
    const fn unplaceable(&self) -> UnplaceablePolicy {
        if self.no_skip { UnplaceablePolicy::Fail } else { UnplaceablePolicy::Skip }
    }

    fn run_kind(
        &self,
        expanded: Option<ExpandedPipeline>,
        leading: Option<&LeaderInstanceOptions>,
    ) -> LocalRunKind {
        let run = self.resume.clone().filter(|run| !run.is_empty());
        let Some(expanded) = expanded else {
            return LocalRunKind::Resume { run, pipeline: None, plan: None };
        };
        let options = RunOptions {
            root: None,
            keep_going: self.keep_going,
            // A worker that can run it may still join.
            unplaceable: leading.map_or(self.unplaceable(), |_| UnplaceablePolicy::Wait),
            timeout: self.timeout.or(expanded.timeout),
            owner: None,
            parent: None,
        };
        let plan = Arc::new(expanded.plan.with_idempotency_ignored(self.again));
        if self.resume.is_none() {
            return LocalRunKind::New { plan, options, reused: Vec::new(), replaces: None };
        }
        let named = self.part.target().file.is_some();
        let pipeline = named.then(|| plan.pipeline().to_owned());
        LocalRunKind::Resume { run, pipeline, plan: Some(plan) }
    }
}
