//! The problems of a file, for people and for programs.

use serde_json::Value;
use windlass_core::problem::{Problem, Severity, Source, Style, render};

use super::count::{count, listed};
use crate::cli::output::{Colour, Ink, Look};

/// A file and what is to be said about it.
#[derive(Debug)]
pub(crate) struct Report {
    /// The file.
    pub(crate) source: Source,
    /// In the order of the file.
    pub(crate) problems: Vec<Problem>,
}

impl Report {
    /// Every problem with its lines, then how many there are.
    pub(crate) fn text(&self, look: &Look) -> String {
        let draw = |problem| render(problem, &self.source, style(look));
        let pages: Vec<String> = self.problems.iter().map(draw).collect();
        format!("{}\n{}", pages.join("\n"), self.summary(look))
    }

    fn summary(&self, look: &Look) -> String {
        let of = |severity| self.problems.iter().filter(|p| p.severity == severity).count();
        let (errors, notes) = (of(Severity::Error), of(Severity::Note));
        let mut counts = Vec::new();
        if errors > 0 {
            counts.push(look.paint(Ink::Bad, &count(errors, "error", "errors")));
        }
        if notes > 0 {
            counts.push(count(notes, "note", "notes"));
        }
        let first = self.problems.iter().min_by_key(|problem| problem.severity);
        let more = first.map(|problem| format!("`windlass explain {}` tells more", problem.code));
        let name = self.source.name();
        format!("{name}: {}; {}", listed(&counts), more.unwrap_or_default())
    }

    /// Every problem as data.
    pub(crate) fn json(&self) -> Value {
        self.problems.iter().map(|problem| problem.to_json(&self.source)).collect()
    }
}

const fn style(look: &Look) -> Style {
    match look.colour {
        Colour::On => Style::Colour,
        Colour::Off => Style::Plain,
    }
}
