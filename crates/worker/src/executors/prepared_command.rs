//! Makes a command and its environment from a step's work and the values that came with its lease.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::expand::{GrantedWork, StepWork, WorkAction, interpreter};
use windlass_core::session::LeaseGrant;
use windlass_core::trace::TraceContext;

use super::builtin_executor::{ExecutorSettings, TracePropagation};
use super::secrets::StepMasks;
use super::step_files::StepFiles;
use super::test_reports::TestReportFiles;
use crate::artifacts::ArtifactKeeper;
use crate::masks::SecretMasks;

/// The grant, the settings and the trace of a command.
#[derive(Clone, Copy)]
pub(super) struct CommandIdentity<'a> {
    pub(super) settings: &'a ExecutorSettings,
    /// The root of the workspace.
    pub(super) root: &'a Path,
    pub(super) grant: &'a LeaseGrant,
    pub(super) traces: TracePropagation,
}

/// A command that is ready to be started.
#[derive(Debug)]
pub(super) struct PreparedCommand {
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Variables of the worker that its steps must not have.
    pub(super) removed: Vec<String>,
    pub(super) dir: PathBuf,
    pub(super) masks: SecretMasks,
    /// Secrets that are too short to be masked.
    pub(super) unmasked: Arc<[String]>,
    pub(super) outputs: Vec<String>,
    pub(super) files: StepFiles,
    pub(super) reports: TestReportFiles,
    pub(super) artifacts: Option<ArtifactKeeper>,
}

impl PreparedCommand {
    /// Fills in what the work leaves open, or returns why that is not possible.
    pub(super) fn new(work: &StepWork, identity: CommandIdentity<'_>) -> Result<Self, String> {
        let CommandIdentity { settings, root, grant, traces } = identity;
        let argv = match &work.action {
            WorkAction::Exec { argv } => argv.clone(),
            WorkAction::Script { text, shell } => {
                interpreter::interpreter_command(shell.as_deref(), text)?
            }
            WorkAction::Noop => Vec::new(),
            WorkAction::Call { name, .. } => {
                return Err(format!("no step `{name}` is compiled into this worker"));
            }
            WorkAction::Unavailable { key } => {
                return Err(format!("`{key}` is not available in this version of windlass"));
            }
        };
        let granted_work = GrantedWork { work, grant };
        let scope = granted_work.scope();
        let secrets = settings.secrets(work)?;
        let StepMasks { masks, unmasked } = settings.masks(work)?;
        let files = StepFiles::new(&settings.scratch, grant.lease.fence);
        // Variables that the step itself sets come later, and win.
        let mut env: Vec<(String, String)> = traceparent(grant, traces).into_iter().collect();
        env.extend(granted_work.variables(&scope)?);
        env.extend(secrets);
        env.extend(granted_work.identity_variables(&settings.worker));
        env.push(("WINDLASS_OUTPUT".to_owned(), files.output.display().to_string()));
        env.push(("WINDLASS_SUMMARY".to_owned(), files.draft.display().to_string()));
        let dir = match granted_work.dir(&scope)? {
            Some(dir) => root.join(dir),
            None => root.to_owned(),
        };
        let patterns = granted_work.junit_reports(&scope);
        let reports = TestReportFiles::new(root.to_owned(), patterns, &files.draft);
        let artifacts = ArtifactKeeper::new(&settings.objects, (granted_work, &scope), root)?;
        let outputs = work.outputs.clone();
        let removed = settings.withheld_variables(work, traces).map(str::to_owned).collect();
        Ok(Self { argv, env, removed, dir, masks, unmasked, outputs, files, reports, artifacts })
    }
}

/// Returns the span of a delivery, for every process that it starts.
pub(super) fn traceparent(
    grant: &LeaseGrant,
    traces: TracePropagation,
) -> Option<(String, String)> {
    let TracePropagation::Own(parent) = traces else { return None };
    let lease = grant.lease;
    let context = TraceContext::new(lease.run, parent);
    let span = context.traceparent(lease.step, lease.attempt, grant.delivery);
    Some(("TRACEPARENT".to_owned(), span.to_string()))
}
