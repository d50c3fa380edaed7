//! Repairs invalid YAML in memory where the correction is certain, so that one mistake does not hide other problems.

use std::ops::Range;

use super::build::build_yaml_tree;
use super::node::YamlNode;
use super::syntax_diagnosis;
use crate::problem::{Problem, SourceFile, SuggestedFix};

/// Maximum repairs in one file; a file with more mistakes is probably not a pipeline.
const REPAIRS_MAX: usize = 50;

/// Maximum bytes read again during repairs; each repair reads the file once.
const REREAD_BYTES_MAX: usize = 8 << 20;

/// Maximum repairs of one kind in one line.
const SAME_REPAIRS_MAX: usize = 3;

/// A source with repairs.
#[derive(Debug)]
pub(crate) struct RepairedSource {
    source: SourceFile,
    /// The edits, in order.
    edits: Vec<RepairEdit>,
    problems: Vec<Problem>,
    readable: bool,
}

#[derive(Debug)]
struct RepairEdit {
    /// The replaced bytes in the text before the edit.
    span: Range<usize>,
    /// The length of the replacement.
    len: usize,
}

impl RepairedSource {
    /// Repairs the source until the parser can read it or no repair is possible.
    pub(crate) fn new(source: &SourceFile) -> Self {
        let (edits, problems) = (Vec::new(), Vec::new());
        let mut repaired = Self { source: source.clone(), edits, problems, readable: false };
        let repairs_max = REPAIRS_MAX.min((REREAD_BYTES_MAX / source.text().len().max(1)).max(1));
        while repaired.problems.len() < repairs_max && !repaired.readable {
            let Err(error) = build_yaml_tree(&repaired.source, &mut Vec::new()) else {
                repaired.readable = true;
                break;
            };
            let problem = syntax_diagnosis::diagnose_syntax_error(&repaired.source, &error);
            let fix = problem.fix.clone();
            let reported = repaired.in_original(problem);
            // The same location again: the repair did not help.
            if repaired.problems.last().is_some_and(|last| last.span.start == reported.span.start) {
                break;
            }
            if repaired.is_repeating(source, &reported) {
                break;
            }
            repaired.problems.push(reported);
            match fix {
                Some(fix) => repaired.apply(fix),
                None => break,
            }
        }
        repaired
    }

    /// Whether a line is repaired repeatedly for the same reason. Such repairs did not help; their fixes are removed.
    fn is_repeating(&mut self, source: &SourceFile, reported: &Problem) -> bool {
        let line = source.line_around(reported.span.start);
        let alike =
            |it: &Problem| it.code == reported.code && source.line_around(it.span.start) == line;
        if self.problems.iter().filter(|it| alike(it)).count() < SAME_REPAIRS_MAX {
            return false;
        }
        let mut first = true;
        self.problems.retain_mut(|it| {
            if !alike(it) {
                return true;
            }
            it.fix = None;
            std::mem::take(&mut first)
        });
        true
    }

    /// The repaired source.
    pub(crate) const fn source(&self) -> &SourceFile {
        &self.source
    }

    /// The repaired mistakes, with locations in the original.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether the parser can read the repaired text.
    pub(crate) const fn is_readable(&self) -> bool {
        self.readable
    }

    /// Builds the tree of the repaired text. Problems have locations in the repaired text.
    pub(crate) fn tree(&self, problems: &mut Vec<Problem>) -> Option<YamlNode<'_>> {
        build_yaml_tree(&self.source, problems).ok().flatten()
    }

    /// Maps the locations of a problem from the repaired text to the original.
    pub(crate) fn in_original(&self, mut problem: Problem) -> Problem {
        problem.span = self.original_span(problem.span);
        for (span, _) in &mut problem.also {
            *span = self.original_span(span.clone());
        }
        problem.fix = problem
            .fix
            .map(|fix| SuggestedFix { span: self.original_span(fix.span), text: fix.text });
        problem
    }

    fn apply(&mut self, fix: SuggestedFix) {
        let mut text = self.source.text().to_owned();
        self.edits.extend(edits(&text[fix.span.clone()], &fix));
        text.replace_range(fix.span, &fix.text);
        self.source = SourceFile::new(self.source.name(), text);
    }

    fn original_span(&self, span: Range<usize>) -> Range<usize> {
        self.edits.iter().rev().fold(span, |span, edit| {
            let end = edit.span.start + edit.len;
            let place = |at: usize| {
                if at >= end { at - end + edit.span.end } else { at.min(edit.span.end) }
            };
            place(span.start)..place(span.end)
        })
    }
}

/// Returns the smallest edits of a corrected line: with quotes around a string, locations inside it stay exact.
fn edits(old: &str, fix: &SuggestedFix) -> Vec<RepairEdit> {
    let new = &*fix.text;
    let same = |(a, b): &(char, char)| a == b;
    let width = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(same).map(|(a, _)| a.len_utf8()).sum()
    };
    let before = width(&mut old.chars().zip(new.chars()));
    let (old, new) = (&old[before..], &new[before..]);
    let behind = width(&mut old.chars().rev().zip(new.chars().rev()));
    let (old, new) = (&old[..old.len() - behind], &new[..new.len() - behind]);
    let at = fix.span.start + before;
    match new.find(old).filter(|_| !old.is_empty()) {
        Some(within) => {
            let end = at + within + old.len();
            let rest = new.len() - within - old.len();
            vec![RepairEdit { span: at..at, len: within }, RepairEdit { span: end..end, len: rest }]
        }
        None => vec![RepairEdit { span: at..at + old.len(), len: new.len() }],
    }
}
