//! Draws a problem as text: the sentence, the line, the caret, the reason and the corrected line.

use std::fmt::Write;
use std::ops::Range;

use super::report::{Problem, Severity};
use super::source::Source;
use crate::shown::misleads;

/// How the drawing is dressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Characters only: for files, pipes and `NO_COLOR`.
    Plain,
    /// With the terminal's own colours.
    Colour,
}

/// Columns that a tab takes.
const TAB: usize = 4;
/// Characters shown of a long line: it fits a terminal that is not narrow, and a line of a megabyte is still readable.
const WIDTH: usize = 140;

/// The problem on one line, as editors and `grep` expect it: `file:line:column: error[E029]: title`.
pub fn one_line(problem: &Problem, source: &Source) -> String {
    let place = source.place(problem.span.start);
    let (name, kind, code) = (clean(source.name()), kind(problem), problem.code);
    format!("{name}:{}:{}: {kind}[{code}]: {}", place.line, place.column, clean(&problem.title))
}

/// The problem with the lines that it is about. Ends with a line break.
pub fn render(problem: &Problem, source: &Source, style: Style) -> String {
    let mut page = Page::new(problem, source, style);
    page.heading();
    page.snippet("-->", &problem.span, '^', &problem.label);
    for (span, what) in &problem.also {
        page.snippet(":::", span, '-', what);
    }
    page.help();
    page.fix();
    page.text
}

struct Page<'a> {
    problem: &'a Problem,
    source: &'a Source,
    style: Style,
    /// Width of the widest line number.
    gutter: usize,
    /// The source line shown last: its number, and what is shown of it.
    last: Option<(usize, String)>,
    text: String,
}

impl<'a> Page<'a> {
    fn new(problem: &'a Problem, source: &'a Source, style: Style) -> Self {
        let spans = problem.also.iter().map(|(span, _)| span).chain([&problem.span]);
        let last = spans.map(|span| source.place(span.start).line).max().unwrap_or(1);
        let extra = problem.fix.as_ref().map_or(0, |fix| fix.text.matches('\n').count());
        let gutter = (last + extra).to_string().len();
        Self { problem, source, style, gutter, last: None, text: String::new() }
    }

    fn heading(&mut self) {
        let paint = match self.problem.severity {
            Severity::Error => Paint::Red,
            Severity::Note => Paint::Cyan,
        };
        let kind = self.paint(paint, &format!("{}[{}]", kind(self.problem), self.problem.code));
        let title = self.paint(Paint::Bold, &format!(": {}", clean(&self.problem.title)));
        self.line(&format!("{kind}{title}"));
    }

    fn snippet(&mut self, arrow: &str, span: &Range<usize>, caret: char, label: &str) {
        let place = self.source.place(span.start);
        let shown = Shown::new(self.source, span);
        // A second place on the same line shares the picture of it, unless a long line is cut elsewhere.
        let here = (place.line, shown.line);
        if self.last.as_ref() != Some(&here) {
            let arrow = self.paint(Paint::Blue, &format!("{}{arrow}", " ".repeat(self.gutter)));
            let name = clean(self.source.name());
            self.line(&format!("{arrow} {name}:{}:{}", place.line, place.column));
            self.bar("");
            self.numbered(place.line, &here.1, None);
        }
        let label = if label.is_empty() { String::new() } else { format!(" {}", clean(label)) };
        let carets = caret.to_string().repeat(shown.width);
        let paint = if caret == '^' { Paint::Red } else { Paint::Blue };
        let carets = self.paint(paint, &format!("{carets}{label}"));
        self.bar(&format!("{}{carets}", " ".repeat(shown.before)));
        self.last = Some(here);
    }

    fn help(&mut self) {
        let Some(help) = &self.problem.help else { return };
        self.bar("");
        let equals = self.paint(Paint::Blue, &format!("{} =", " ".repeat(self.gutter)));
        let word = self.paint(Paint::Bold, "help:");
        self.line(&format!("{equals} {word} {}", clean(help)));
    }

    fn fix(&mut self) {
        let Some(fix) = &self.problem.fix else { return };
        let first = self.source.place(fix.span.start).line;
        self.bar("");
        let equals = self.paint(Paint::Blue, &format!("{} =", " ".repeat(self.gutter)));
        let word = self.paint(Paint::Bold, "write:");
        self.line(&format!("{equals} {word}"));
        for (offset, line) in fix.text.lines().enumerate() {
            self.numbered(first + offset, &expand(line), Some(Paint::Green));
        }
    }

    fn numbered(&mut self, number: usize, line: &str, paint: Option<Paint>) {
        let bar = self.paint(Paint::Blue, &format!("{number:>width$} |", width = self.gutter));
        let line = paint.map_or_else(|| line.to_owned(), |paint| self.paint(paint, line));
        self.line(&format!("{bar} {line}"));
    }

    fn bar(&mut self, rest: &str) {
        let bar = self.paint(Paint::Blue, &format!("{} |", " ".repeat(self.gutter)));
        self.line(&format!("{bar} {rest}"));
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    fn paint(&self, paint: Paint, text: &str) -> String {
        match self.style {
            Style::Plain => text.to_owned(),
            Style::Colour => format!("\u{1b}[{}m{text}\u{1b}[0m", paint.number()),
        }
    }
}

#[derive(Clone, Copy)]
enum Paint {
    Bold,
    Red,
    Green,
    Blue,
    Cyan,
}

impl Paint {
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

/// The part of a line that is shown, and where the carets go under it.
struct Shown {
    line: String,
    before: usize,
    width: usize,
}

impl Shown {
    fn new(source: &Source, span: &Range<usize>) -> Self {
        let (line, text) = (source.line_around(span.start), source.text());
        let start = text.floor_char_boundary(span.start.clamp(line.start, line.end));
        let end = text.ceil_char_boundary(span.end.clamp(start, line.end));
        let (before, inside) = (expand(&text[line.start..start]), expand(&text[start..end]));
        let (lead, width) = (before.chars().count(), inside.chars().count());
        let after = expand(&text[end..line.end]);
        let whole = format!("{before}{inside}{after}");
        if whole.chars().count() <= WIDTH {
            return Self { line: whole, before: lead, width: width.max(1) };
        }
        let skip = lead.saturating_sub(WIDTH / 2);
        let cut: String = whole.chars().skip(skip).take(WIDTH).collect();
        let (left, right) = (
            if skip > 0 { "…" } else { "" },
            if skip + WIDTH < whole.chars().count() { "…" } else { "" },
        );
        let before = lead - skip + left.chars().count();
        Self { line: format!("{left}{cut}{right}"), before, width: width.clamp(1, WIDTH / 2) }
    }
}

/// The line as a terminal may show it: tabs as blanks, no other control characters.
fn expand(line: &str) -> String {
    clean(&line.replace('\t', &" ".repeat(TAB)))
}

/// Text of a file must not be able to move the reader's cursor, nor to show itself in another order than it has.
fn clean(text: &str) -> String {
    text.chars().map(|c| if misleads(c) { '\u{fffd}' } else { c }).collect()
}

const fn kind(problem: &Problem) -> &'static str {
    match problem.severity {
        Severity::Error => "error",
        Severity::Note => "note",
    }
}
