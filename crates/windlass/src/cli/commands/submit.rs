//! `windlass submit`

use std::path::Path;

use windlass_core::expand::ExpandedPipeline;
use windlass_core::files::WorkspaceSource;
use windlass_core::object::ObjectId;
use windlass_core::problem::ProblemSeverity;
use windlass_core::spec::WorkspaceDecl;
use windlass_core::time::Span;
use windlass_link::http::{ParamValue, SubmitRunBody};

use super::submit_response::{SubmitFollowUp, SubmitResponse};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::local_run_args::read_duration;
use crate::cli::output;
use crate::cli::pipeline_args::PipelineArgs;
use crate::cli::run_source::{ClusterClient, ControllerArgs, runtime};
use crate::cli::run_watch::WatchOutput;
use crate::cli::snapshot::{SnapshotArgs, SnapshotMode, SnapshotRequest, take_snapshot};

/// Submit a pipeline to a controller, which runs it on its workers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the id of the run. The file is checked here first: an invalid file is not sent.
In a git work tree, and with `workspace: here` in the file, the files of the project are sent too, and each attempt gets a
copy. Otherwise steps run in the folder that each worker was started in.

Examples:
  windlass submit --to http://build.example:7700
  windlass submit ship.yml deploy -p channel=stable --wait
  windlass submit nightly.yml --idempotency-key nightly-2026-11-16")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    part: PipelineArgs,
    /// After a failure, run the steps that do not depend on it
    #[arg(long)]
    keep_going: bool,
    /// Run idempotent steps (`idempotent:`) even if they are already done
    #[arg(long)]
    again: bool,
    /// Cancel the run after this long, such as 90s or 2h
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    timeout: Option<Span>,
    /// Watch the run and exit with its exit code
    #[arg(long)]
    wait: bool,
    /// Return the run of an earlier submission with the same key and file, instead of a new one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print one JSON object; with --wait, then one event per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    snapshot: SnapshotArgs,
    /// Send no files: steps run in the folder that each worker was started in
    #[arg(long, conflicts_with = "snapshot")]
    no_snapshot: bool,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// Submits the pipeline, and watches the run if requested.
pub(crate) fn run(args: &SubmitArgs, context: &CommandContext) -> Result<u8, CliError> {
    // The worker checks the calls; another worker may have functions that this program lacks.
    let calls = context.compiled.allowed_calls_elsewhere();
    let file = args.part.target().file;
    let loaded =
        LoadedPipeline::read_calling(context, file.as_deref(), (ProblemSeverity::Error, &calls))?;
    let text = loaded.valid.source.text().to_owned();
    let loaded = loaded.select(&args.part.selection())?;
    let controller = args.controller.controller(context)?;
    let runtime = runtime()?;
    // A wrong param is reported before files are sent.
    loaded.plan(&args.part.param)?;
    let snapshot = match args.snapshot_mode(&loaded) {
        Some(mode) => Some(runtime.block_on(send_snapshot(&loaded, mode, &controller))?),
        None => None,
    };
    let workspace = snapshot.map(WorkspaceSource::Snapshot);
    let expanded = loaded.plan_in(&args.part.param, workspace.as_ref())?;
    let body = args.body(&loaded, (text, snapshot), &expanded);
    let key = args.idempotency_key.as_deref();
    let submitted =
        runtime.block_on(SubmitResponse::request_run(&controller, "/runs", &body, key))?;
    let (wait, named) = (args.wait, args.part.target().steps);
    let prints = if args.json { WatchOutput::Events } else { WatchOutput::Output };
    submitted.report_and_watch(
        controller,
        &runtime,
        SubmitFollowUp { wait, prints, named, context },
    )
}

/// Sends the files of the project to the controller, and returns the object of their manifest.
async fn send_snapshot(
    loaded: &LoadedPipeline,
    mode: SnapshotMode,
    controller: &ClusterClient,
) -> Result<ObjectId, CliError> {
    let request = SnapshotRequest::of_project(loaded.project.root.clone(), mode);
    let taken = take_snapshot(&request, &*controller.objects()).await;
    let snapshot =
        taken.map_err(|error| CliError::from(error).hint("`--no-snapshot` sends no files"))?;
    for message in snapshot.messages() {
        output::print_message(&message);
    }
    Ok(snapshot.manifest)
}

/// Whether a folder is in a git work tree.
fn is_in_git_work_tree(folder: &Path) -> bool {
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

impl SubmitArgs {
    /// Returns which files of the project are sent; `None` for none.
    fn snapshot_mode(&self, loaded: &LoadedPipeline) -> Option<SnapshotMode> {
        if self.no_snapshot {
            return None;
        }
        let declared = loaded.valid.pipeline.workspace.as_ref().map(|it| &it.value);
        let is_sent = match declared {
            None => is_in_git_work_tree(&loaded.project.root),
            Some(WorkspaceDecl::Here) => true,
            Some(WorkspaceDecl::None | WorkspaceDecl::Shared(_)) => false,
        };
        self.snapshot.snapshot.or_else(|| is_sent.then_some(SnapshotMode::Files))
    }

    fn body(
        &self,
        loaded: &LoadedPipeline,
        (text, snapshot): (String, Option<ObjectId>),
        expanded: &ExpandedPipeline,
    ) -> SubmitRunBody {
        let params = self.part.param.iter();
        SubmitRunBody {
            text,
            file: Some(loaded.project.shown.clone()),
            name: Some(loaded.project.name()),
            params: params
                .map(|it| (it.name.clone(), ParamValue(it.value.clone().into())))
                .collect(),
            selection: self.part.selection().into(),
            keep_going: self.keep_going,
            again: self.again,
            timeout_ms: self.timeout.map(Span::as_millis),
            snapshot: snapshot.map(|manifest| manifest.to_string()),
            fingerprint: Some(expanded.plan.fingerprint().to_string()),
        }
    }
}
