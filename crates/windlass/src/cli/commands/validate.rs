//! `windlass validate`

use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_core::expand::ExpandedPipeline;
use windlass_core::problem::ProblemSeverity;
use windlass_core::spec::{ParamDecl, ParamKind};
use windlass_worker::labels;

use crate::cli::args::ParamArg;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::output::ColorRole;
use crate::cli::render::{PlanOutlook, ProblemReport, count, listed, refused_here, routing_notes};
use crate::cli::{exit, output};

/// Report every problem in a pipeline file, with corrections
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is run. Keys that this version cannot execute yet are notes here and errors for `run`.
Exit code: 0 the file is valid, 3 it is not.

Examples:
  windlass validate
  windlass validate ci.yml --json")]
pub(crate) struct ValidateArgs {
    /// Check this pipeline file (default: windlass.yml here or in the nearest parent folder)
    file: Option<PathBuf>,
    /// Set a param of the pipeline; can be repeated. Required params without a value get an assumed one
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<ParamArg>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks the file in all stages and reports the problems.
pub(crate) fn run(args: &ValidateArgs, context: &CommandContext) -> Result<u8, CliError> {
    match check(args.file.as_deref(), &args.param, context) {
        Ok(valid) => {
            let text = if args.json { valid.json() } else { valid.text(context) };
            Ok(output::print_data(&text))
        }
        Err(CliError::Pipeline(report)) => {
            let text = if args.json { invalid(&report) } else { report.text(&context.out) };
            let written = output::print_data(&text);
            Ok(if written == exit::SUCCESS { exit::INVALID_PIPELINE } else { written })
        }
        Err(error) => Err(error),
    }
}

struct ValidatedFile {
    report: ProblemReport,
    /// Absent if it depends on params without a value.
    expanded: Option<ExpandedPipeline>,
    loaded: LoadedPipeline,
}

fn check(
    file: Option<&Path>,
    given: &[ParamArg],
    context: &CommandContext,
) -> Result<ValidatedFile, CliError> {
    let loaded = LoadedPipeline::read(context, file, ProblemSeverity::Note)?;
    let is_given = |param: &&ParamDecl| given.iter().any(|given| given.name == param.name.value);
    let required = loaded.valid.pipeline.params.iter().filter(|param| param.required);
    let assumed: Vec<ParamArg> = required.filter(|param| !is_given(param)).map(assume).collect();
    let all: Vec<ParamArg> = given.iter().cloned().chain(assumed.iter().cloned()).collect();
    let expanded = match loaded.plan(&all) {
        Ok(expanded) => Some(expanded),
        // A problem of an assumed value is no problem of the file.
        Err(_) if !assumed.is_empty() => None,
        Err(error) => return Err(error),
    };
    let report =
        ProblemReport { source: loaded.valid.source.clone(), problems: loaded.valid.notes.clone() };
    Ok(ValidatedFile { report, expanded, loaded })
}

/// A value that a required param could have.
fn assume(param: &ParamDecl) -> ParamArg {
    let any = match param.kind {
        ParamKind::String => "assumed",
        ParamKind::Number => "1",
        ParamKind::Boolean => "true",
    };
    let value = param.choices.first().map_or(any, |choice| &choice.value).to_owned();
    ParamArg { name: param.name.value.clone(), value }
}

impl ValidatedFile {
    fn text(&self, context: &CommandContext) -> String {
        let name = self.report.source.name();
        let found = listed(&self.found());
        let ok = format!("{name} is {}: {found}", context.out.paint(ColorRole::Good, "valid"));
        let problems = (!self.report.problems.is_empty()).then(|| self.report.text(&context.out));
        let note =
            |text: &String| format!("{} {text}", context.out.paint(ColorRole::Quiet, "note:"));
        let notes =
            self.outlook().map(|outlook| routing_notes(&self.loaded.valid.pipeline, &outlook));
        let notes: Vec<String> = notes.iter().flatten().map(note).collect();
        problems.into_iter().chain([ok]).chain(notes).collect::<Vec<_>>().join("\n")
    }

    /// The outlook of a run on this machine.
    fn outlook(&self) -> Option<PlanOutlook<'_>> {
        self.expanded.as_ref().map(|expanded| PlanOutlook::new(expanded, &labels::detect()))
    }

    /// The numbers of steps, matrix cells and params.
    fn found(&self) -> Vec<String> {
        let pipeline = &self.loaded.valid.pipeline;
        let mut found = vec![count(pipeline.steps.len(), "step", "steps")];
        let mut more = |number: usize, one: &str, many: &str| {
            if number > 0 {
                found.push(count(number, one, many));
            }
        };
        more(self.cells(), "matrix cell", "matrix cells");
        more(self.locks().len(), "lock", "locks");
        more(pipeline.params.len(), "param", "params");
        found
    }

    fn cells(&self) -> usize {
        let steps = self.expanded.iter().flat_map(|expanded| &expanded.steps);
        let plan = self.expanded.as_ref().map(|expanded| &expanded.plan);
        let matrices = steps.filter(|step| plan.is_some_and(|plan| plan.is_join(step.node)));
        matrices.map(|step| step.cells.len()).sum()
    }

    fn locks(&self) -> Vec<&str> {
        let specs = self.expanded.iter().flat_map(|expanded| expanded.plan.specs());
        let mut names: Vec<&str> =
            specs.flat_map(|spec| &spec.locks).map(|lock| &*lock.name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn json(&self) -> String {
        let pipeline = &self.loaded.valid.pipeline;
        let steps: Vec<&str> = pipeline.steps.iter().map(|step| &*step.name.value).collect();
        let params: Vec<&str> = pipeline.params.iter().map(|param| &*param.name.value).collect();
        json!({
            "file": self.report.source.name(),
            "valid": true,
            "steps": steps,
            "cells": self.expanded.as_ref().map(|_| self.cells()),
            "locks": self.locks(),
            "params": params,
            "refused_here": self.outlook().as_ref().map(refused_here),
            "problems": self.report.json(),
        })
        .to_string()
    }
}

fn invalid(report: &ProblemReport) -> String {
    let name = report.source.name();
    json!({ "file": name, "valid": false, "problems": report.json() }).to_string()
}
