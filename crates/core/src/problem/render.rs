//! Renders a problem as text: title, source line, caret, help and corrected line.

use std::fmt::Write;
use std::ops::Range;

use super::problem_type::{Problem, ProblemSeverity};
use super::source::SourceFile;
use crate::display_text::is_unsafe_to_display;

/// Whether the output uses colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemStyle {
    /// Plain text: for files, pipes and `NO_COLOR`.
    Plain,
    /// With ANSI colours.
    Colour,
}

/// Columns per tab.
const TAB_WIDTH: usize = 4;
/// Maximum characters shown of a line. It fits most terminals and keeps a line of a megabyte readable.
const LINE_WIDTH_MAX: usize = 140;

/// Renders the problem on one line, as editors and `grep` expect it: `file:line:column: error[E029]: title`.
pub fn render_one_line(problem: &Problem, source: &SourceFile) -> String {
    let place = source.line_column(problem.span.start);
    let (name, kind, code) = (without_control_chars(source.name()), kind(problem), problem.code);
    format!(
        "{name}:{}:{}: {kind}[{code}]: {}",
        place.line,
        place.column,
        without_control_chars(&problem.title)
    )
}

/// Renders the problem with its source lines. Ends with a line break.
pub fn render_problem(problem: &Problem, source: &SourceFile, style: ProblemStyle) -> String {
    let mut page = ProblemRenderer::new(problem, source, style);
    page.heading();
    page.snippet("-->", &problem.span, '^', &problem.label);
    for (span, what) in &problem.also {
        page.snippet(":::", span, '-', what);
    }
    page.help();
    page.fix();
    page.text
}

struct ProblemRenderer<'a> {
    problem: &'a Problem,
    source: &'a SourceFile,
    style: ProblemStyle,
    /// Width of the widest line number.
    gutter: usize,
    /// The last source line shown: its number and the visible part.
    last: Option<(usize, String)>,
    text: String,
}

impl<'a> ProblemRenderer<'a> {
    fn new(problem: &'a Problem, source: &'a SourceFile, style: ProblemStyle) -> Self {
        let spans = problem.also.iter().map(|(span, _)| span).chain([&problem.span]);
        let last = spans.map(|span| source.line_column(span.start).line).max().unwrap_or(1);
        let extra = problem.fix.as_ref().map_or(0, |fix| fix.text.matches('\n').count());
        let gutter = (last + extra).to_string().len();
        Self { problem, source, style, gutter, last: None, text: String::new() }
    }

    fn heading(&mut self) {
        let paint = match self.problem.severity {
            ProblemSeverity::Error => ProblemColor::Red,
            ProblemSeverity::Note => ProblemColor::Cyan,
        };
        let kind = self.paint(paint, &format!("{}[{}]", kind(self.problem), self.problem.code));
        let title = self.paint(
            ProblemColor::Bold,
            &format!(": {}", without_control_chars(&self.problem.title)),
        );
        self.line(&format!("{kind}{title}"));
    }

    fn snippet(&mut self, arrow: &str, span: &Range<usize>, caret: char, label: &str) {
        let place = self.source.line_column(span.start);
        let shown = SnippetLine::new(self.source, span);
        // A second span on the same line reuses the line, unless a long line is cut at another column.
        let here = (place.line, shown.line);
        if self.last.as_ref() != Some(&here) {
            let arrow =
                self.paint(ProblemColor::Blue, &format!("{}{arrow}", " ".repeat(self.gutter)));
            let name = without_control_chars(self.source.name());
            self.line(&format!("{arrow} {name}:{}:{}", place.line, place.column));
            self.bar("");
            self.numbered(place.line, &here.1, None);
        }
        let label = if label.is_empty() {
            String::new()
        } else {
            format!(" {}", without_control_chars(label))
        };
        let carets = caret.to_string().repeat(shown.width);
        let paint = if caret == '^' { ProblemColor::Red } else { ProblemColor::Blue };
        let carets = self.paint(paint, &format!("{carets}{label}"));
        self.bar(&format!("{}{carets}", " ".repeat(shown.before)));
        self.last = Some(here);
    }

    fn help(&mut self) {
        let Some(help) = &self.problem.help else { return };
        self.bar("");
        let equals = self.paint(ProblemColor::Blue, &format!("{} =", " ".repeat(self.gutter)));
        let word = self.paint(ProblemColor::Bold, "help:");
        self.line(&format!("{equals} {word} {}", without_control_chars(help)));
    }

    fn fix(&mut self) {
        let Some(fix) = &self.problem.fix else { return };
        let first = self.source.line_column(fix.span.start).line;
        self.bar("");
        let equals = self.paint(ProblemColor::Blue, &format!("{} =", " ".repeat(self.gutter)));
        let word = self.paint(ProblemColor::Bold, "write:");
        self.line(&format!("{equals} {word}"));
        for (offset, line) in fix.text.lines().enumerate() {
            self.numbered(first + offset, &expand_tabs(line), Some(ProblemColor::Green));
        }
    }

    fn numbered(&mut self, number: usize, line: &str, paint: Option<ProblemColor>) {
        let bar =
            self.paint(ProblemColor::Blue, &format!("{number:>width$} |", width = self.gutter));
        let line = paint.map_or_else(|| line.to_owned(), |paint| self.paint(paint, line));
        self.line(&format!("{bar} {line}"));
    }

    fn bar(&mut self, rest: &str) {
        let bar = self.paint(ProblemColor::Blue, &format!("{} |", " ".repeat(self.gutter)));
        self.line(&format!("{bar} {rest}"));
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    fn paint(&self, paint: ProblemColor, text: &str) -> String {
        match self.style {
            ProblemStyle::Plain => text.to_owned(),
            ProblemStyle::Colour => format!("\u{1b}[{}m{text}\u{1b}[0m", paint.number()),
        }
    }
}

#[derive(Clone, Copy)]
enum ProblemColor {
    Bold,
    Red,
    Green,
    Blue,
    Cyan,
}

impl ProblemColor {
    const fn number(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Red => "1;31",
            Self::Green => "32",
            Self::Blue => "1;34",
            Self::Cyan => "1;36",
        }
    }
}

/// The visible part of a line, and the position of the carets below it.
struct SnippetLine {
    line: String,
    before: usize,
    width: usize,
}

impl SnippetLine {
    fn new(source: &SourceFile, span: &Range<usize>) -> Self {
        let (line, text) = (source.line_around(span.start), source.text());
        let start = text.floor_char_boundary(span.start.clamp(line.start, line.end));
        let end = text.ceil_char_boundary(span.end.clamp(start, line.end));
        let (before, inside) =
            (expand_tabs(&text[line.start..start]), expand_tabs(&text[start..end]));
        let (lead, width) = (before.chars().count(), inside.chars().count());
        let after = expand_tabs(&text[end..line.end]);
        let whole = format!("{before}{inside}{after}");
        if whole.chars().count() <= LINE_WIDTH_MAX {
            return Self { line: whole, before: lead, width: width.max(1) };
        }
        let skip = lead.saturating_sub(LINE_WIDTH_MAX / 2);
        let cut: String = whole.chars().skip(skip).take(LINE_WIDTH_MAX).collect();
        let (left, right) = (
            if skip > 0 { "…" } else { "" },
            if skip + LINE_WIDTH_MAX < whole.chars().count() { "…" } else { "" },
        );
        let before = lead - skip + left.chars().count();
        Self {
            line: format!("{left}{cut}{right}"),
            before,
            width: width.clamp(1, LINE_WIDTH_MAX / 2),
        }
    }
}

/// Expands tabs to spaces and replaces other control characters.
fn expand_tabs(line: &str) -> String {
    without_control_chars(&line.replace('\t', &" ".repeat(TAB_WIDTH)))
}

/// Replaces characters that could move the cursor or reorder the displayed text.
fn without_control_chars(text: &str) -> String {
    text.chars().map(|c| if is_unsafe_to_display(c) { '\u{fffd}' } else { c }).collect()
}

const fn kind(problem: &Problem) -> &'static str {
    match problem.severity {
        ProblemSeverity::Error => "error",
        ProblemSeverity::Note => "note",
    }
}
