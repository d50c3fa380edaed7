//! One problem, as data.

use std::ops::Range;

use super::code::ProblemCode;
use super::source::SourceFile;

/// Problems told of one file: with more of them, these are mended first. It bounds what a file of nothing but mistakes
/// costs.
pub const PROBLEMS_MAX: usize = 1_000;

/// Bytes of one sentence about a problem: names and values that were written are part of it.
const SENTENCE_MAX: usize = 2_000;

/// Other places told of one problem.
const ALSO_MAX: usize = 20;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// Nothing runs until it is mended.
    Error,
    /// Worth knowing; nothing is held up by it.
    Note,
}

/// What is wrong, where, why, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which problem it is, for ever under this code.
    pub code: ProblemCode,
    /// Whether it holds the run up.
    pub severity: ProblemSeverity,
    /// Where: bytes of the file.
    pub span: Range<usize>,
    /// What is wrong, in one sentence without a full stop.
    pub title: String,
    /// What is to be seen at the place; may be empty.
    pub label: String,
    /// Why, or what to do.
    pub help: Option<String>,
    /// The corrected line.
    pub fix: Option<SuggestedFix>,
    /// Other places that belong to it, with what is to be seen there.
    pub also: Vec<(Range<usize>, String)>,
}

impl Problem {
    /// A problem that holds the run up.
    pub fn new(code: ProblemCode, span: Range<usize>, title: impl Into<String>) -> Self {
        Self {
            code,
            severity: ProblemSeverity::Error,
            span,
            title: clipped(title.into()),
            label: String::new(),
            help: None,
            fix: None,
            also: Vec::new(),
        }
    }

    /// The same, with what is to be seen at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = clipped(label.into());
        self
    }

    /// The same, with why or what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(clipped(help.into()));
        self
    }

    /// The same, with the corrected line if there is one.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<Option<SuggestedFix>>) -> Self {
        self.fix = fix.into();
        self
    }

    /// The same, with another place that belongs to it.
    #[must_use]
    pub fn also(mut self, span: Range<usize>, what: impl Into<String>) -> Self {
        if self.also.len() < ALSO_MAX {
            self.also.push((span, clipped(what.into())));
        }
        self
    }

    /// Adds a problem to those of a file, unless there are as many as are told.
    pub(crate) fn add(problems: &mut Vec<Self>, problem: Self) {
        if problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        }
    }

    /// The same, as bad as this.
    #[must_use]
    pub fn severity(mut self, severity: ProblemSeverity) -> Self {
        self.severity = severity;
        self
    }

    /// Moves its places into the text, to boundaries of characters: one that was found in a mended text, or by a parser
    /// that counts bytes, may lie beside them.
    pub(crate) fn clamp_spans(&mut self, text: &str) {
        let fix = self.fix.iter_mut().map(|fix| &mut fix.span);
        let also = self.also.iter_mut().map(|(span, _)| span);
        for span in also.chain(fix).chain([&mut self.span]) {
            let start = text.floor_char_boundary(span.start.min(text.len()));
            let end = text.ceil_char_boundary(span.end.min(text.len()));
            *span = start..end.max(start);
        }
    }

    /// Puts problems into the order of the file, each once.
    pub fn sort(problems: &mut Vec<Self>) {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end, problem.code));
        problems.dedup();
    }
}

/// A line to write instead of the one that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedFix {
    /// The bytes of the line to be replaced, without its line break.
    pub span: Range<usize>,
    /// What to write there; more than one line if it holds line breaks.
    pub text: String,
}

impl SuggestedFix {
    /// The line around `span` with the bytes of `span` replaced; none if they are not on one line.
    pub fn replace(source: &SourceFile, span: &Range<usize>, with: &str) -> Option<Self> {
        let line = source.line_around(span.start);
        let text = &source.text()[line.clone()];
        if span.start < line.start || span.end > line.end || text.len() > Self::LINE_MAX {
            return None;
        }
        let (before, after) =
            (&text[..span.start - line.start], text[span.end - line.start..].trim_end());
        Some(Self { text: format!("{before}{with}{after}").trim_end().to_owned(), span: line })
    }

    /// A corrected line longer than this helps nobody.
    const LINE_MAX: usize = 1000;
}

/// The sentence, cut where it is too long to be read.
fn clipped(mut sentence: String) -> String {
    if sentence.len() > SENTENCE_MAX {
        sentence.truncate(sentence.floor_char_boundary(SENTENCE_MAX));
        sentence.push('…');
    }
    sentence
}
