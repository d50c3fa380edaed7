//! From the text of a pipeline file to its plan: the one path of every command, of the API, and of pipelines in Rust.
//!
//! ```text
//! text ──ValidPipeline::read──► all problems, or declarations ──select──► fewer steps ──plan──► all problems, or a plan
//! ```

use super::expanded::{ExpandInputs, ExpandedPipeline};
use super::expander::expand_pipeline;
use super::selection::{SelectionError, StepSelection};
use crate::problem::{Problem, ProblemSeverity, RejectedSource, SourceFile};
use crate::spec::{CallableSet, PipelineDecl, PipelineReadOptions, read_pipeline_with_callables};

/// A pipeline file without errors.
#[derive(Clone, Debug)]
pub struct ValidPipeline {
    /// The text of the file.
    pub source: SourceFile,
    /// The declarations in it.
    pub pipeline: PipelineDecl,
    /// Problems that are no errors.
    pub notes: Vec<Problem>,
}

/// A pipeline file that has no plan, and every problem that prevents it.
#[derive(Clone, Debug)]
pub struct InvalidPipeline {
    /// The text of the file.
    pub source: SourceFile,
    /// The problems, in file order.
    pub problems: Vec<Problem>,
    /// Whether only the given params are wrong. The file then has a plan with other params.
    pub only_params_are_wrong: bool,
}

/// How strictly a pipeline file is checked.
#[derive(Clone, Copy, Debug)]
pub struct PipelineChecks<'a> {
    /// The functions that the file may call.
    pub calls: &'a CallableSet,
    /// The severity of keys that this version cannot execute: a note for a command that inspects a file, an error for one
    /// that runs it.
    pub unavailable_key_severity: ProblemSeverity,
}

impl ValidPipeline {
    /// Reads and checks a file.
    pub fn read(
        source: SourceFile,
        checks: PipelineChecks<'_>,
    ) -> Result<Self, Box<InvalidPipeline>> {
        let PipelineChecks { calls, unavailable_key_severity } = checks;
        let options = PipelineReadOptions { unavailable_key_severity };
        match read_pipeline_with_callables(&source, options, calls) {
            (Some(pipeline), notes) => Ok(Self { source, pipeline, notes }),
            (None, problems) => Err(Box::new(InvalidPipeline::of_file(source, problems))),
        }
    }

    /// Keeps only the selected steps.
    pub fn select(self, selection: &StepSelection) -> Result<Self, SelectionError> {
        Ok(Self { pipeline: selection.select_from(self.pipeline)?, ..self })
    }

    /// Plans a run with these inputs.
    pub fn plan(&self, inputs: ExpandInputs<'_>) -> Result<ExpandedPipeline, Box<InvalidPipeline>> {
        expand_pipeline(&self.pipeline, inputs).map_err(|problems| {
            let only_params_are_wrong =
                problems.iter().all(|problem| problem.code.concerns_param_value());
            let source = self.source.clone();
            Box::new(InvalidPipeline { source, problems, only_params_are_wrong })
        })
    }
}

impl InvalidPipeline {
    /// A file that cannot be planned with any params.
    const fn of_file(source: SourceFile, problems: Vec<Problem>) -> Self {
        Self { source, problems, only_params_are_wrong: false }
    }
}

impl From<RejectedSource> for Box<InvalidPipeline> {
    fn from(rejected: RejectedSource) -> Self {
        let RejectedSource { source, problem } = rejected;
        Self::new(InvalidPipeline::of_file(source, vec![*problem]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::problem::ProblemCode;

    const FILE: &str = "\
params: { channel: { choose: [beta, stable] } }
steps:
  build: { run: make }
  ship: { needs: build, run: \"ship ${{ params.channel }}\" }
";

    fn read(text: &str) -> Result<ValidPipeline, Box<InvalidPipeline>> {
        let checks = PipelineChecks {
            calls: &CallableSet::NONE,
            unavailable_key_severity: ProblemSeverity::Error,
        };
        ValidPipeline::read(SourceFile::new("windlass.yml", text), checks)
    }

    fn plan_with(channel: &str) -> Result<ExpandedPipeline, Box<InvalidPipeline>> {
        let params = BTreeMap::from([("channel".to_owned(), channel.to_owned())]);
        read(FILE).expect("it is valid").plan(ExpandInputs {
            name: "ship",
            params: &params,
            workspace: None,
        })
    }

    #[test]
    fn file_with_errors_returns_all_problems_and_its_text() {
        let invalid = read("steps: { a: { rum: x }, b: { needs: c, run: x } }").unwrap_err();
        let codes: Vec<ProblemCode> = invalid.problems.iter().map(|problem| problem.code).collect();
        assert!(codes.len() >= 2, "{codes:?}");
        assert!(!invalid.only_params_are_wrong);
        assert_eq!(invalid.source.name(), "windlass.yml");
    }

    #[test]
    fn wrong_param_is_no_error_of_the_file() {
        assert!(plan_with("stable").is_ok());
        let invalid = plan_with("nightly").unwrap_err();
        assert!(invalid.only_params_are_wrong, "{:?}", invalid.problems);
    }

    #[test]
    fn wrong_default_is_an_error_of_the_file() {
        let file = FILE.replace("[beta, stable]", "[beta, stable], default: nightly");
        let invalid = read(&file).unwrap_err();
        assert_eq!(invalid.problems[0].code, ProblemCode::ParamChoice);
        assert!(!invalid.only_params_are_wrong);
    }

    #[test]
    fn plan_contains_only_selected_steps() {
        let selection =
            StepSelection { steps: vec!["build".to_owned()], ..StepSelection::default() };
        let selected = read(FILE).expect("it is valid").select(&selection).expect("it has `build`");
        let params = BTreeMap::from([("channel".to_owned(), "beta".to_owned())]);
        let expanded = selected
            .plan(ExpandInputs { name: "ship", params: &params, workspace: None })
            .expect("valid");
        assert_eq!(expanded.plan.step_count(), 1);
    }
}
