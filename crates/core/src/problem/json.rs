//! The JSON form of a problem.

use serde_json::{Value, json};

use super::problem_type::{Problem, ProblemSeverity};
use super::source::SourceFile;

impl Problem {
    /// Returns the problem as a JSON object with lines and columns of its file.
    pub fn to_json(&self, source: &SourceFile) -> Value {
        let (start, end) = (source.line_column(self.span.start), source.line_column(self.span.end));
        let severity = match self.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Note => "note",
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
