//! The problems of a file, for readers and for programs.

use serde_json::Value;
use windlass_core::problem::{Problem, ProblemSeverity, ProblemStyle, SourceFile, render_problem};

use super::number_text::{count, listed};
use crate::cli::output::{ColorMode, ColorRole, TerminalCaps};

/// A file and its problems.
#[derive(Debug)]
pub(crate) struct ProblemReport {
    /// The file.
    pub(crate) source: SourceFile,
    /// In the order of the file.
    pub(crate) problems: Vec<Problem>,
}

impl ProblemReport {
    /// Every problem with its source lines, then their number.
    pub(crate) fn text(&self, caps: &TerminalCaps) -> String {
        let draw = |problem| render_problem(problem, &self.source, style(caps));
        let pages: Vec<String> = self.problems.iter().map(draw).collect();
        format!("{}\n{}", pages.join("\n"), self.summary(caps))
    }

    fn summary(&self, caps: &TerminalCaps) -> String {
        let of = |severity| self.problems.iter().filter(|p| p.severity == severity).count();
        let (errors, notes) = (of(ProblemSeverity::Error), of(ProblemSeverity::Note));
        let mut counts = Vec::new();
        if errors > 0 {
            counts.push(caps.paint(ColorRole::Bad, &count(errors, "error", "errors")));
        }
        if notes > 0 {
            counts.push(count(notes, "note", "notes"));
        }
        let first = self.problems.iter().min_by_key(|problem| problem.severity);
        let more =
            first.map(|problem| format!("for details, run `windlass explain {}`", problem.code));
        let name = self.source.name();
        format!("{name}: {}; {}", listed(&counts), more.unwrap_or_default())
    }

    /// Every problem as data.
    pub(crate) fn json(&self) -> Value {
        self.problems.iter().map(|problem| problem.to_json(&self.source)).collect()
    }
}

const fn style(caps: &TerminalCaps) -> ProblemStyle {
    match caps.color {
        ColorMode::On => ProblemStyle::Colour,
        ColorMode::Off => ProblemStyle::Plain,
    }
}
