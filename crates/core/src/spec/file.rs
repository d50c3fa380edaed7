//! Reads a file through all stages.

use super::check;
use super::keys::PIPELINE;
use super::pipeline::Pipeline;
use super::read::Reader;
use super::shape::Walk;
use super::tree::{Mended, Node, Value, build};
use crate::problem::{Code, Problem, SOURCE_MAX, Severity, Source};

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

/// The pipeline in the file, unless a problem is an error; and every problem, in the order of the file.
pub fn read(source: &Source, options: Options) -> (Option<Pipeline>, Vec<Problem>) {
    if source.text().len() > SOURCE_MAX {
        let title = format!("the file is longer than {SOURCE_MAX} bytes");
        return (None, vec![Problem::new(Code::TooLarge, 0..0, title)]);
    }
    let mut problems = Vec::new();
    let pipeline = if let Ok(root) = build(source, &mut problems) {
        walk(source, root.as_ref(), options, &mut problems)
    } else {
        problems.clear();
        mended(source, options, &mut problems);
        None
    };
    Problem::sort(&mut problems);
    let sound = problems.iter().all(|problem| problem.severity == Severity::Note);
    (pipeline.filter(|_| sound), problems)
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
