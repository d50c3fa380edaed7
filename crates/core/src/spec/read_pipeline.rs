//! Reads a pipeline file through all stages.

use std::collections::BTreeMap;

use super::callable::CallableSet;
use super::check;
use super::declaration::PipelineDecl;
use super::keys::PIPELINE;
use super::read::PipelineReader;
use super::shape::ShapeChecker;
use super::yaml::{RepairedSource, YamlNode, YamlValue, build_yaml_tree};
use crate::problem::{PROBLEMS_MAX, Problem, ProblemCode, ProblemSeverity, SOURCE_MAX, SourceFile};

/// Maximum bytes read again to verify suggested fixes: a tenth of a second. Each fix reads the file once.
const FIX_TRIAL_BYTES_MAX: usize = 1 << 20;

/// Options for reading a file.
#[derive(Clone, Copy, Debug)]
pub struct PipelineReadOptions {
    /// Severity of keys that this version cannot execute. An error prevents a run; a note allows checking the file.
    pub unavailable_key_severity: ProblemSeverity,
}

impl Default for PipelineReadOptions {
    fn default() -> Self {
        Self { unavailable_key_severity: ProblemSeverity::Error }
    }
}

/// Returns the pipeline, unless a problem is an error, and all problems in file order. Only built-in steps can be called.
pub fn read_pipeline(
    source: &SourceFile,
    options: PipelineReadOptions,
) -> (Option<PipelineDecl>, Vec<Problem>) {
    read_pipeline_with_callables(source, options, &CallableSet::NONE)
}

/// Like [`read_pipeline`], for a file that may call compiled-in steps. The callable steps affect only the problems: the
/// plan is the same with or without them.
pub fn read_pipeline_with_callables(
    source: &SourceFile,
    options: PipelineReadOptions,
    calls: &CallableSet,
) -> (Option<PipelineDecl>, Vec<Problem>) {
    if source.text().len() > SOURCE_MAX {
        let title = format!("the file has more than {SOURCE_MAX} bytes");
        return (None, vec![Problem::new(ProblemCode::TooLarge, 0..0, title)]);
    }
    let (pipeline, mut problems) = read_all_stages(source, options);
    if let Some(pipeline) = &pipeline {
        check::calls(source, pipeline, (calls, options.unavailable_key_severity), &mut problems);
        Problem::sort(&mut problems);
    }
    drop_unhelpful_fixes(&mut problems, source, options);
    let sound = problems.iter().all(|problem| problem.severity == ProblemSeverity::Note);
    (pipeline.filter(|_| sound), problems)
}

/// Drops suggested fixes that do not help. When the trial budget is spent, only fixes of YAML mistakes are dropped,
/// because those are guesses.
fn drop_unhelpful_fixes(
    problems: &mut [Problem],
    source: &SourceFile,
    options: PipelineReadOptions,
) {
    let mut left = FIX_TRIAL_BYTES_MAX;
    let kept: Vec<bool> = problems
        .iter()
        .map(|problem| {
            let size = source.text().len().max(1);
            let tried = problem.fix.is_some() && size <= left;
            left -= if tried { size } else { 0 };
            if tried {
                fix_helps(problem, problems, source, options)
            } else {
                !problem.code.is_yaml_mistake()
            }
        })
        .collect();
    for (problem, kept) in problems.iter_mut().zip(kept) {
        problem.fix = problem.fix.take().filter(|_| kept);
    }
}

/// Whether the fix removes this problem, reduces the problems of its code and adds no YAML mistakes. A fix is a guess;
/// one that does not help is not shown.
fn fix_helps(
    problem: &Problem,
    all: &[Problem],
    source: &SourceFile,
    options: PipelineReadOptions,
) -> bool {
    let Some(fix) = &problem.fix else { return false };
    let mut text = source.text().to_owned();
    text.replace_range(fix.span.clone(), &fix.text);
    let (_, left) = read_all_stages(&SourceFile::new(source.name(), text), options);
    let (left_by, all_by) = (count_by_code(&left), count_by_code(all));
    let of = |by: &BTreeMap<ProblemCode, usize>, code: ProblemCode| {
        by.get(&code).copied().unwrap_or_default()
    };
    let worse = left_by
        .keys()
        .any(|code| code.is_yaml_mistake() && of(&left_by, *code) > of(&all_by, *code));
    let same = |it: &Problem| {
        (it.code, it.span.start, &it.title) == (problem.code, problem.span.start, &problem.title)
    };
    let (left_of_it, were) = (of(&left_by, problem.code), of(&all_by, problem.code));
    // After the first mistake in an expression there may be another one with the same code.
    // If the list of problems is full, the next problem takes the place of a fixed one.
    let may_equal = problem.code == ProblemCode::Expression || all.len() >= PROBLEMS_MAX;
    let fewer = left_of_it < were || (left_of_it == were && may_equal);
    !worse && !left.iter().any(same) && fewer
}

/// Counts the problems by code.
fn count_by_code(problems: &[Problem]) -> BTreeMap<ProblemCode, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.code).or_default() += 1;
    }
    counts
}

/// Returns the pipeline even if it has errors, and all problems.
fn read_all_stages(
    source: &SourceFile,
    options: PipelineReadOptions,
) -> (Option<PipelineDecl>, Vec<Problem>) {
    let mut problems = Vec::new();
    let pipeline = if let Ok(root) = build_yaml_tree(source, &mut problems) {
        read_tree(source, root.as_ref(), options, &mut problems)
    } else {
        problems.clear();
        read_repaired(source, options, &mut problems);
        None
    };
    for problem in &mut problems {
        problem.clamp_spans(source.text());
    }
    Problem::sort(&mut problems);
    problems.truncate(PROBLEMS_MAX);
    (pipeline, problems)
}

/// Collects the problems of a file that is not valid YAML: the syntax mistakes, and the problems after repairing them.
fn read_repaired(source: &SourceFile, options: PipelineReadOptions, problems: &mut Vec<Problem>) {
    let repaired = RepairedSource::new(source);
    let mut found = Vec::new();
    if repaired.is_readable() {
        let tree = repaired.tree(&mut found);
        read_tree(repaired.source(), tree.as_ref(), options, &mut found);
    }
    problems.extend(repaired.problems().iter().cloned());
    problems.extend(found.into_iter().map(|problem| repaired.in_original(problem)));
}

fn read_tree(
    source: &SourceFile,
    root: Option<&YamlNode<'_>>,
    options: PipelineReadOptions,
    problems: &mut Vec<Problem>,
) -> Option<PipelineDecl> {
    let broken = !problems.is_empty() && root.is_none();
    let root = match root {
        Some(root) if !matches!(root.value, YamlValue::Null) => root,
        _ if broken => return None,
        _ => {
            problems.push(empty_file_problem());
            return None;
        }
    };
    ShapeChecker::new(source, options.unavailable_key_severity, problems).object(root, &PIPELINE);
    let pipeline = PipelineReader::new(source, problems).pipeline(root);
    check::pipeline(source, &pipeline, problems);
    Some(pipeline)
}

fn empty_file_problem() -> Problem {
    Problem::new(ProblemCode::NoSteps, 0..0, "the file is empty").help(
        "write at least `steps: { hello: { run: echo hi } }`, or create a file with `windlass init`",
    )
}
