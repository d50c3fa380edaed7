//! Loads the file of a request in all stages: bytes, pipeline, plan.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use windlass_core::expand::{
    ExpandInputs, ExpandedPipeline, SelectionError, StepSelection, expand_pipeline,
};
use windlass_core::problem::{Problem, ProblemCode, ProblemSeverity, SOURCE_MAX, SourceFile};
use windlass_core::spec::{
    CallableSet, PipelineDecl, PipelineReadOptions, read_pipeline_with_callables,
};

use super::args::ParamArg;
use super::context::CommandContext;
use super::error::CliError;
use super::project::{FILE, Project};
use super::render::ProblemReport;

/// Problems with the given params, as opposed to the file.
const PARAMS: [ProblemCode; 4] = [
    ProblemCode::ParamUnknown,
    ProblemCode::ParamMissing,
    ProblemCode::ParamChoice,
    ProblemCode::ParamType,
];

/// Steps that are listed when a named step does not exist.
const LISTED_MAX: usize = 12;

/// A valid pipeline file.
#[derive(Debug)]
pub(crate) struct LoadedPipeline {
    /// Its location.
    pub(crate) project: Project,
    /// Its text.
    pub(crate) source: SourceFile,
    /// Its declarations.
    pub(crate) pipeline: PipelineDecl,
    /// Notes about it.
    pub(crate) notes: Vec<Problem>,
}

impl LoadedPipeline {
    /// Reads the given file, or the nearest one. Keys that this version cannot execute get the severity
    /// `not_available`: notes for commands that inspect a file, errors for those that run it.
    pub(crate) fn read(
        context: &CommandContext,
        file: Option<&Path>,
        not_available: ProblemSeverity,
    ) -> Result<Self, CliError> {
        Self::read_calling(context, file, (not_available, &context.compiled.allowed_calls()))
    }

    /// The same, for a file that may call these functions.
    pub(crate) fn read_calling(
        context: &CommandContext,
        file: Option<&Path>,
        (not_available, calls): (ProblemSeverity, &CallableSet),
    ) -> Result<Self, CliError> {
        let options = PipelineReadOptions { unavailable_key_severity: not_available };
        let (project, source) = match (file, &context.compiled.pipeline) {
            (None, Some(source)) => (Project::compiled(&context.folder, source), source.clone()),
            _ => Self::source(&context.folder, file)?,
        };
        let (pipeline, problems) = read_pipeline_with_callables(&source, options, calls);
        match pipeline {
            Some(pipeline) => Ok(Self { project, source, pipeline, notes: problems }),
            None => Err(invalid(source, problems)),
        }
    }

    fn source(folder: &Path, file: Option<&Path>) -> Result<(Project, SourceFile), CliError> {
        let project = Project::find(folder, file)?;
        let bytes = bytes(&project)?;
        let source = SourceFile::from_bytes(&project.shown, &bytes).map_err(|mut rejected| {
            if rejected.problem.code == ProblemCode::TooLarge {
                "the file is larger than 8 MiB".clone_into(&mut rejected.problem.title);
            }
            invalid(rejected.source, vec![*rejected.problem])
        })?;
        Ok((project, source))
    }

    /// The selected part of the file.
    pub(crate) fn select(mut self, selection: &StepSelection) -> Result<Self, CliError> {
        let names: Vec<&str> =
            self.pipeline.steps.iter().map(|step| &*step.name.value).take(LISTED_MAX).collect();
        let steps = format!("the steps are {}", names.join(", "));
        self.pipeline = selection.select_from(self.pipeline).map_err(|error| {
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
        Ok(self)
    }

    /// The plan with these params.
    pub(crate) fn plan(&self, given: &[ParamArg]) -> Result<ExpandedPipeline, CliError> {
        let given = given.iter().map(|param| (param.name.clone(), param.value.clone()));
        self.plan_with(&given.collect()).map_err(|problems| {
            let source = self.source.clone();
            let of_params = problems.iter().all(|problem| PARAMS.contains(&problem.code));
            match invalid(source, problems) {
                CliError::Pipeline(report) if of_params => CliError::Params(report),
                error => error,
            }
        })
    }

    /// The plan with these params, or every problem.
    fn plan_with(
        &self,
        params: &BTreeMap<String, String>,
    ) -> Result<ExpandedPipeline, Vec<Problem>> {
        expand_pipeline(&self.pipeline, ExpandInputs { name: &self.project.name(), params })
    }
}

fn invalid(source: SourceFile, problems: Vec<Problem>) -> CliError {
    CliError::Pipeline(Box::new(ProblemReport { source, problems }))
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
