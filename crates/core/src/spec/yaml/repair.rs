//! A file that is no YAML is mended in memory where the slip is plain, so that one slip does not hide the other problems.

use std::ops::Range;

use super::build::build_yaml_tree;
use super::node::YamlNode;
use super::syntax_diagnosis;
use crate::problem::{Problem, SourceFile, SuggestedFix};

/// Slips mended in one file: beyond that, the file is something else than a pipeline with slips.
const REPAIRS_MAX: usize = 50;

/// Bytes that are read again while slips are mended: a file is read once for each.
const REREAD_BYTES_MAX: usize = 8 << 20;

/// Slips of one kind that are mended in one line.
const SAME_REPAIRS_MAX: usize = 3;

/// A source, mended where it had to be.
#[derive(Debug)]
pub(crate) struct RepairedSource {
    source: SourceFile,
    /// What was replaced, in the order in which it was done.
    edits: Vec<RepairEdit>,
    problems: Vec<Problem>,
    readable: bool,
}

#[derive(Debug)]
struct RepairEdit {
    /// The bytes that were replaced, of the text before the edit.
    span: Range<usize>,
    /// How many bytes stand there now.
    len: usize,
}

impl RepairedSource {
    /// Mends the source until the parser reads it, or no further.
    pub(crate) fn new(source: &SourceFile) -> Self {
        let (edits, problems) = (Vec::new(), Vec::new());
        let mut mended = Self { source: source.clone(), edits, problems, readable: false };
        let mends_max = REPAIRS_MAX.min((REREAD_BYTES_MAX / source.text().len().max(1)).max(1));
        while mended.problems.len() < mends_max && !mended.readable {
            let Err(error) = build_yaml_tree(&mended.source, &mut Vec::new()) else {
                mended.readable = true;
                break;
            };
            let problem = syntax_diagnosis::diagnose_syntax_error(&mended.source, &error);
            let fix = problem.fix.clone();
            let told = mended.in_original(problem);
            // The same place again: the correction was none.
            if mended.problems.last().is_some_and(|last| last.span.start == told.span.start) {
                break;
            }
            if mended.is_repeating(source, &told) {
                break;
            }
            mended.problems.push(told);
            match fix {
                Some(fix) => mended.apply(fix),
                None => break,
            }
        }
        mended
    }

    /// Whether a line is mended for the same reason again and again: its corrections were none, and are taken back.
    fn is_repeating(&mut self, source: &SourceFile, told: &Problem) -> bool {
        let line = source.line_around(told.span.start);
        let alike =
            |it: &Problem| it.code == told.code && source.line_around(it.span.start) == line;
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

    /// The text that was read.
    pub(crate) const fn source(&self) -> &SourceFile {
        &self.source
    }

    /// The slips, in places of the original.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether the parser reads the mended text.
    pub(crate) const fn is_readable(&self) -> bool {
        self.readable
    }

    /// The tree of the mended text. Problems are added in places of the mended text.
    pub(crate) fn tree(&self, problems: &mut Vec<Problem>) -> Option<YamlNode<'_>> {
        build_yaml_tree(&self.source, problems).ok().flatten()
    }

    /// A problem of the mended text, in places of the original.
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

/// What a corrected line changes, as narrow as can be: quotes around a text leave the places inside it known.
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
