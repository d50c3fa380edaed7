//! Reads a file through all stages.

use std::collections::BTreeMap;

use super::callable::Calls;
use super::check;
use super::keys::PIPELINE;
use super::pipeline::Pipeline;
use super::read::Reader;
use super::shape::Walk;
use super::tree::{Mended, Node, Value, build};
use crate::problem::{Code, PROBLEMS_MAX, Problem, SOURCE_MAX, Severity, Source};

/// Bytes that are read again to try corrections: a tenth of a second. A file is read once for each.
const TRIED_MAX: usize = 1 << 20;

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How bad a key is that this version cannot execute. An error keeps the file from being run; a note lets it be
    /// looked at.
    pub not_available: Severity,
}

impl Default for Options {
    fn default() -> Self {
        Self { not_available: Severity::Error }
    }
}

/// The pipeline in the file, unless a problem is an error; and every problem, in the order of the file. It calls nothing
/// but what is built in.
pub fn read(source: &Source, options: Options) -> (Option<Pipeline>, Vec<Problem>) {
    read_knowing(source, options, &Calls::NONE)
}

/// The same, of a file that may call steps that are compiled in. What they are only decides on problems: whoever makes the
/// plan makes the same one, whether it has them or not.
pub fn read_knowing(
    source: &Source,
    options: Options,
    calls: &Calls,
) -> (Option<Pipeline>, Vec<Problem>) {
    if source.text().len() > SOURCE_MAX {
        let title = format!("the file is longer than {SOURCE_MAX} bytes");
        return (None, vec![Problem::new(Code::TooLarge, 0..0, title)]);
    }
    let (pipeline, mut problems) = look_through(source, options);
    if let Some(pipeline) = &pipeline {
        check::calls(source, pipeline, (calls, options.not_available), &mut problems);
        Problem::sort(&mut problems);
    }
    keep_what_helps(&mut problems, source, options);
    let sound = problems.iter().all(|problem| problem.severity == Severity::Note);
    (pipeline.filter(|_| sound), problems)
}

/// Drops corrections that do not help. When all that may be tried was tried, those are told that are no guesses about
/// what the text was meant to be.
fn keep_what_helps(problems: &mut [Problem], source: &Source, options: Options) {
    let mut left = TRIED_MAX;
    let kept: Vec<bool> = problems
        .iter()
        .map(|problem| {
            let size = source.text().len().max(1);
            let tried = problem.fix.is_some() && size <= left;
            left -= if tried { size } else { 0 };
            if tried { helps(problem, problems, source, options) } else { !problem.code.is_slip() }
        })
        .collect();
    for (problem, kept) in problems.iter_mut().zip(kept) {
        problem.fix = problem.fix.take().filter(|_| kept);
    }
}

/// Whether the file is no worse with the corrected line in place, this problem gone and its kind less often in it. A
/// correction is a guess; one that does not hold is not told.
fn helps(problem: &Problem, all: &[Problem], source: &Source, options: Options) -> bool {
    let Some(fix) = &problem.fix else { return false };
    let mut text = source.text().to_owned();
    text.replace_range(fix.span.clone(), &fix.text);
    let (_, left) = look_through(&Source::new(source.name(), text), options);
    let (left_by, all_by) = (by_code(&left), by_code(all));
    let of = |by: &BTreeMap<Code, usize>, code: Code| by.get(&code).copied().unwrap_or_default();
    let worse =
        left_by.keys().any(|code| code.is_slip() && of(&left_by, *code) > of(&all_by, *code));
    let same = |it: &Problem| {
        (it.code, it.span.start, &it.title) == (problem.code, problem.span.start, &problem.title)
    };
    let (left_of_it, were) = (of(&left_by, problem.code), of(&all_by, problem.code));
    // Behind the first mistake in an expression there may be another one of the same kind.
    // Where as many are told as may be, the place of one that is gone is taken by the next.
    let may_equal = problem.code == Code::Expression || all.len() >= PROBLEMS_MAX;
    let fewer = left_of_it < were || (left_of_it == were && may_equal);
    !worse && !left.iter().any(same) && fewer
}

/// How many problems there are of each kind.
fn by_code(problems: &[Problem]) -> BTreeMap<Code, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.code).or_default() += 1;
    }
    counts
}

/// The pipeline, whatever is wrong with it, and every problem.
fn look_through(source: &Source, options: Options) -> (Option<Pipeline>, Vec<Problem>) {
    let mut problems = Vec::new();
    let pipeline = if let Ok(root) = build(source, &mut problems) {
        walk(source, root.as_ref(), options, &mut problems)
    } else {
        problems.clear();
        mended(source, options, &mut problems);
        None
    };
    for problem in &mut problems {
        problem.settle_within(source.text());
    }
    Problem::sort(&mut problems);
    problems.truncate(PROBLEMS_MAX);
    (pipeline, problems)
}

/// The problems of a file that is no YAML: those of its slips, and those that show once the slips are mended.
fn mended(source: &Source, options: Options, problems: &mut Vec<Problem>) {
    let mended = Mended::new(source);
    let mut found = Vec::new();
    if mended.is_readable() {
        let tree = mended.tree(&mut found);
        walk(mended.source(), tree.as_ref(), options, &mut found);
    }
    problems.extend(mended.problems().iter().cloned());
    problems.extend(found.into_iter().map(|problem| mended.original(problem)));
}

fn walk(
    source: &Source,
    root: Option<&Node<'_>>,
    options: Options,
    problems: &mut Vec<Problem>,
) -> Option<Pipeline> {
    let broken = !problems.is_empty() && root.is_none();
    let root = match root {
        Some(root) if !matches!(root.value, Value::Null) => root,
        _ if broken => return None,
        _ => {
            problems.push(nothing_here());
            return None;
        }
    };
    Walk::new(source, options.not_available, problems).object(root, &PIPELINE);
    let pipeline = Reader::new(source, problems).pipeline(root);
    check::pipeline(source, &pipeline, problems);
    Some(pipeline)
}

fn nothing_here() -> Problem {
    Problem::new(Code::NoSteps, 0..0, "the file is empty").help(
        "the smallest pipeline is `steps: { hello: { run: echo hi } }`; `windlass init` writes one",
    )
}
