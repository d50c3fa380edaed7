//! `windlass rerun`

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::engine::{RunOptions, UnplaceablePolicy};
use windlass_core::id::StepIx;
use windlass_core::summary::{RerunScope, RerunSubmission, RunSummary};
use windlass_link::http::RerunBody;

use super::submit_response::{SubmitFollowUp, SubmitResponse};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::local_run::{LocalRunKind, LocalRunOptions};
use crate::cli::local_run_args::LocalRunArgs;
use crate::cli::run_source::{
    ClusterClient, LocalRunSource, OriginArgs, RemoteRunSource, RunOrigin, RunSource as _,
};
use crate::cli::run_watch::WatchOutput;
use crate::cli::{exit, local_run, logging, output, run_source};

/// Run the plan of an earlier run again, or a part of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The new run uses the plan of that run, even if the file has changed since. Steps with `if: always()`
or `if: failure()`, and their dependents, always run again: they report on the run they are part of.

Examples:
  windlass rerun latest --failed     only steps that did not succeed
  windlass rerun latest --from test  `test` and its dependents
  windlass rerun latest --failed --to http://build.example:7700 --wait")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RerunArgs {
    /// Rerun this run: its id, a prefix of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// Reuse the outcomes of steps that succeeded
    #[arg(long, conflicts_with = "from")]
    failed: bool,
    /// Run this step and its dependents, and reuse all other outcomes; can be repeated
    #[arg(long, value_name = "STEP")]
    from: Vec<String>,
    /// Run idempotent steps (`idempotent:`) even if they are already done
    #[arg(long)]
    again: bool,
    /// Watch the run on a controller and exit with its exit code; a local run always does
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    how: LocalRunArgs,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Creates a run that reuses outcomes of an earlier one.
pub(crate) fn run(args: &RerunArgs, context: &CommandContext) -> Result<u8, CliError> {
    let folder = match args.origin.origin(context)? {
        RunOrigin::Store(folder) => folder,
        RunOrigin::Controller(controller) => return run_there(args, context, *controller),
    };
    logging::install_default();
    // A reader of the store keeps files open that the leader has to write, so reading ends first.
    let Some(order) = local_run_options(args, context, folder)? else { return Ok(exit::SUCCESS) };
    local_run::run(order)
}

/// Requests the new run from a controller.
fn run_there(
    args: &RerunArgs,
    context: &CommandContext,
    controller: ClusterClient,
) -> Result<u8, CliError> {
    if let Some(flag) = args.how.local_only_flag() {
        let what = format!(
            "{flag} applies to steps that run here, and a controller runs them on its workers"
        );
        return Err(
            CliError::usage(what).hint("leave it out, or use a local store with --store FOLDER")
        );
    }
    let (runtime, remote) = (run_source::runtime()?, RemoteRunSource::new(controller));
    let summary = runtime.block_on(async {
        let run = remote.find(&args.run).await?;
        Ok::<_, CliError>(remote.load_run(run).await?.summary)
    })?;
    // The controller checks this again; checking here reports errors sooner.
    if args.rerun_request(&summary)?.is_none() {
        return Ok(exit::SUCCESS);
    }
    let controller = remote.into_controller();
    let path = format!("/runs/{}/rerun", summary.run());
    let body = RerunBody { failed: args.failed, from: args.from.clone(), again: args.again };
    let submitted =
        runtime.block_on(SubmitResponse::request_run(&controller, &path, &body, None))?;
    let (wait, named) = (args.wait, args.from.clone());
    let prints = if args.how.json { WatchOutput::Events } else { WatchOutput::Output };
    submitted.report_and_watch(
        controller,
        &runtime,
        SubmitFollowUp { wait, prints, named, context },
    )
}

impl RerunArgs {
    /// Computes the new run; `None` if `--failed` is given and every step succeeded.
    fn rerun_request(&self, summary: &RunSummary) -> Result<Option<RerunSubmission>, CliError> {
        let from = self.from.iter().map(|from| run_source::step(summary, from));
        let from: Vec<StepIx> = from.collect::<Result<_, _>>()?;
        let part = match (self.failed, from.as_slice()) {
            (true, _) => RerunScope::Failed,
            (false, []) => RerunScope::Everything,
            (false, from) => RerunScope::From(from),
        };
        let again = summary.rerun(part);
        if again.is_none() {
            output::print_message(&format!("run {}: every step succeeded", summary.run()));
        }
        Ok(again)
    }
}

/// Collects the options of a local rerun.
fn local_run_options(
    args: &RerunArgs,
    context: &CommandContext,
    folder: PathBuf,
) -> Result<Option<LocalRunOptions>, CliError> {
    let root = run_source::root(args.origin.store.as_deref(), context, &folder);
    let local = LocalRunSource::open(context, folder.clone())?;
    let known = run_source::runtime()?.block_on(async {
        let run = local.find(&args.run).await?;
        local.load_run(run).await
    })?;
    let Some(again) = args.rerun_request(&known.summary)? else { return Ok(None) };
    let replaces = known.interrupted.then(|| known.summary.run());
    let options = RunOptions {
        unplaceable: match again.options.unplaceable {
            UnplaceablePolicy::Fail => UnplaceablePolicy::Fail,
            UnplaceablePolicy::Skip | UnplaceablePolicy::Wait => UnplaceablePolicy::Skip,
        },
        ..again.options
    };
    let plan = Arc::new(Arc::unwrap_or_clone(again.plan).with_idempotency_ignored(args.again));
    let what = LocalRunKind::New { plan, options, reused: again.reused, replaces };
    Ok(Some(LocalRunOptions {
        root,
        store: Some(folder),
        accept_lost_history: false,
        kind: what,
        slots: args.how.slots(),
        labels: context.compiled.labels(&args.how.labels()),
        compiled: context.compiled.clone(),
        named: Vec::new(),
        hints: local.hints().clone(),
        mode: args.how.mode(),
        json: args.how.json,
        junit: args.how.junit.clone(),
        collector: args.how.collector(),
        leading: None,
        caps: context.err,
    }))
}
