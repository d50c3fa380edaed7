//! A problem for programs.

use serde_json::{Value, json};

use super::report::{Problem, Severity};
use super::source::Source;

impl Problem {
    /// The problem as an object, with the lines and columns of the file that it was found in.
    pub fn to_json(&self, source: &Source) -> Value {
        let (start, end) = (source.place(self.span.start), source.place(self.span.end));
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Note => "note",
        };
        json!({
            "code": self.code.as_str(),
            "severity": severity,
            "line": start.line,
            "column": start.column,
            "end_line": end.line,
            "end_column": end.column,
            "title": self.title,
            "label": self.label,
            "help": self.help,
            "fix": self.fix.as_ref().map(|fix| &fix.text),
        })
    }
}
