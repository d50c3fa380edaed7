//! Loads the file of a request in all stages: bytes, pipeline, plan.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use windlass_core::expand::{
    ExpandInputs, ExpandedPipeline, InvalidPipeline, PipelineChecks, SelectionError, StepSelection,
    ValidPipeline,
};
use windlass_core::files::WorkspaceSource;
use windlass_core::problem::{ProblemCode, ProblemSeverity, SOURCE_MAX, SourceFile};
use windlass_core::spec::CallableSet;

use super::args::ParamArg;
use super::context::CommandContext;
use super::error::CliError;
use super::project::{FILE, Project};
use super::render::ProblemReport;

/// Steps that are listed when a named step does not exist.
const LISTED_MAX: usize = 12;

/// A valid pipeline file of a project.
#[derive(Debug)]
pub(crate) struct LoadedPipeline {
    /// Its location.
    pub(crate) project: Project,
    /// Its contents.
    pub(crate) valid: ValidPipeline,
}

impl LoadedPipeline {
    /// Reads the given file, or the nearest one. Keys that this version cannot execute get the severity
    /// `unavailable`: notes for commands that inspect a file, errors for those that run it.
    pub(crate) fn read(
        context: &CommandContext,
        file: Option<&Path>,
        unavailable: ProblemSeverity,
    ) -> Result<Self, CliError> {
        Self::read_calling(context, file, (unavailable, &context.compiled.allowed_calls()))
    }

    /// The same, for a file that may call these functions.
    pub(crate) fn read_calling(
        context: &CommandContext,
        file: Option<&Path>,
        (unavailable_key_severity, calls): (ProblemSeverity, &CallableSet),
    ) -> Result<Self, CliError> {
        let (project, source) = match (file, &context.compiled.pipeline) {
            (None, Some(source)) => (Project::compiled(&context.folder, source), source.clone()),
            _ => Self::source(&context.folder, file)?,
        };
        let checks = PipelineChecks { calls, unavailable_key_severity };
        Ok(Self { project, valid: ValidPipeline::read(source, checks)? })
    }

    fn source(folder: &Path, file: Option<&Path>) -> Result<(Project, SourceFile), CliError> {
        let project = Project::find(folder, file)?;
        let bytes = bytes(&project)?;
        let source = SourceFile::from_bytes(&project.shown, &bytes).map_err(|mut rejected| {
            if rejected.problem.code == ProblemCode::TooLarge {
                "the file is larger than 8 MiB".clone_into(&mut rejected.problem.title);
            }
            Box::<InvalidPipeline>::from(rejected)
        })?;
        Ok((project, source))
    }

    /// The selected part of the file.
    pub(crate) fn select(self, selection: &StepSelection) -> Result<Self, CliError> {
        let steps = self.valid.pipeline.steps.iter();
        let names: Vec<&str> = steps.map(|step| &*step.name.value).take(LISTED_MAX).collect();
        let steps = format!("the steps are {}", names.join(", "));
        let valid = self.valid.select(selection).map_err(|error| {
            let hint = match &error {
                SelectionError::NoStep { name, .. } if name.contains('[') => {
                    Some("a matrix runs as a whole: name it without a cell".to_owned())
                }
                SelectionError::NoStep { nearest: None, .. } => Some(steps),
                _ => None,
            };
            let error = CliError::usage(error.to_string());
            match hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        })?;
        Ok(Self { valid, ..self })
    }

    /// The plan with these params.
    pub(crate) fn plan(&self, given: &[ParamArg]) -> Result<ExpandedPipeline, CliError> {
        self.plan_in(given, None)
    }

    /// The plan with these params, whose steps find the files of this source.
    pub(crate) fn plan_in(
        &self,
        given: &[ParamArg],
        workspace: Option<&WorkspaceSource>,
    ) -> Result<ExpandedPipeline, CliError> {
        let given = given.iter().map(|param| (param.name.clone(), param.value.clone()));
        let (name, params) = (self.project.name(), given.collect::<BTreeMap<String, String>>());
        Ok(self.valid.plan(ExpandInputs { name: &name, params: &params, workspace })?)
    }
}

impl From<Box<InvalidPipeline>> for CliError {
    fn from(invalid: Box<InvalidPipeline>) -> Self {
        let InvalidPipeline { source, problems, only_params_are_wrong } = *invalid;
        let report = Box::new(ProblemReport { source, problems });
        if only_params_are_wrong { Self::Params(report) } else { Self::Pipeline(report) }
    }
}

/// The bytes of the file, at most one more than the limit.
fn bytes(project: &Project) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(SOURCE_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let file = File::open(&project.file);
    match file.and_then(|file| file.take(bound).read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(unreadable(project, &error)),
    }
}

fn unreadable(project: &Project, error: &io::Error) -> CliError {
    let shown = &project.shown;
    match error.kind() {
        ErrorKind::NotFound if shown.contains('[') => {
            CliError::file(format!("there is no file {shown}"))
                .hint("a first argument with `/` is a file; to name a step, put the file before it")
        }
        ErrorKind::NotFound => CliError::file(format!("there is no file {shown}")),
        ErrorKind::IsADirectory if shown.ends_with(FILE) => {
            CliError::file(format!("{shown} is a directory, not a file"))
        }
        ErrorKind::IsADirectory => CliError::file(format!("{shown} is a directory, not a file"))
            .hint(format!("name the file in it: {}/{FILE}", shown.trim_end_matches('/'))),
        ErrorKind::PermissionDenied => CliError::file(format!("no permission to read {shown}"))
            .hint(format!("check its permissions with `ls -l {shown}`")),
        _ => CliError::file(format!("{shown} cannot be read: {error}")),
    }
}
