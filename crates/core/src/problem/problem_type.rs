//! A problem as data.

use std::ops::Range;

use super::code::ProblemCode;
use super::source::SourceFile;
use crate::word_set;

/// Maximum number of problems reported for one file. It bounds the cost of a file that consists of mistakes.
pub const PROBLEMS_MAX: usize = 1_000;

/// Maximum bytes of one message, including the names and values that it quotes.
const SENTENCE_MAX: usize = 2_000;

/// Maximum number of additional spans of one problem.
const ALSO_MAX: usize = 20;

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// The pipeline cannot run.
    Error,
    /// Information only; the pipeline can run.
    Note,
}

word_set!(ProblemSeverity { Error => "error", Note => "note" });

/// A problem in a file: what is wrong, where, why, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The stable code of the problem.
    pub code: ProblemCode,
    /// Whether it prevents the run.
    pub severity: ProblemSeverity,
    /// The location, in bytes of the file.
    pub span: Range<usize>,
    /// What is wrong, in one sentence without a full stop.
    pub title: String,
    /// A note at the location; may be empty.
    pub label: String,
    /// The reason, or how to fix it.
    pub help: Option<String>,
    /// The corrected line.
    pub fix: Option<SuggestedFix>,
    /// Additional locations, each with a note.
    pub also: Vec<(Range<usize>, String)>,
}

impl Problem {
    /// Creates a problem with the severity `Error`.
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

    /// Sets the note at the location.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = clipped(label.into());
        self
    }

    /// Sets the help text.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(clipped(help.into()));
        self
    }

    /// Sets the corrected line, if there is one.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<Option<SuggestedFix>>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Adds another location with a note.
    #[must_use]
    pub fn also(mut self, span: Range<usize>, what: impl Into<String>) -> Self {
        if self.also.len() < ALSO_MAX {
            self.also.push((span, clipped(what.into())));
        }
        self
    }

    /// Adds a problem to the list, unless the list is full.
    pub(crate) fn add(problems: &mut Vec<Self>, problem: Self) {
        if problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        }
    }

    /// Sets the severity.
    #[must_use]
    pub fn severity(mut self, severity: ProblemSeverity) -> Self {
        self.severity = severity;
        self
    }

    /// Moves its spans into the text and onto character boundaries. A span found in repaired text, or by a parser that
    /// counts bytes, may lie outside.
    pub(crate) fn clamp_spans(&mut self, text: &str) {
        let fix = self.fix.iter_mut().map(|fix| &mut fix.span);
        let also = self.also.iter_mut().map(|(span, _)| span);
        for span in also.chain(fix).chain([&mut self.span]) {
            let start = text.floor_char_boundary(span.start.min(text.len()));
            let end = text.ceil_char_boundary(span.end.min(text.len()));
            *span = start..end.max(start);
        }
    }

    /// Sorts problems by their position in the file and removes duplicates.
    pub fn sort(problems: &mut Vec<Self>) {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end, problem.code));
        problems.dedup();
    }
}

/// A corrected line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedFix {
    /// The bytes of the line to be replaced, without its line break.
    pub span: Range<usize>,
    /// The replacement; several lines if it contains line breaks.
    pub text: String,
}

impl SuggestedFix {
    /// Replaces the bytes of `span` in their line. Returns `None` if they are not on one line.
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

    /// Maximum bytes of a corrected line; a longer one is not useful.
    const LINE_MAX: usize = 1000;
}

/// Truncates a sentence that is too long to read.
fn clipped(mut sentence: String) -> String {
    if sentence.len() > SENTENCE_MAX {
        sentence.truncate(sentence.floor_char_boundary(SENTENCE_MAX));
        sentence.push('…');
    }
    sentence
}
