//! The JSON form of a problem.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::problem_type::{Problem, ProblemSeverity};
use super::source::SourceFile;
use crate::json_form::AsWord;

/// A problem of a pipeline file, with lines and columns that count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PipelineProblem"))]
pub struct ProblemJson {
    /// The code of the problem, which `windlass explain` describes.
    pub code: String,
    /// An `error` keeps the pipeline from running; a `note` does not.
    pub severity: AsWord<ProblemSeverity>,
    /// The line where it begins.
    pub line: usize,
    /// The column where it begins.
    pub column: usize,
    /// The line where it ends.
    pub end_line: usize,
    /// The column behind its end.
    pub end_column: usize,
    /// What is wrong, in one sentence.
    pub title: String,
    /// A note for the marked text; may be empty.
    pub label: String,
    /// The reason, or how to fix it.
    pub help: Option<String>,
    /// The corrected line.
    pub fix: Option<String>,
}

impl Problem {
    /// The problem as a JSON object with lines and columns of its file.
    pub fn to_json(&self, source: &SourceFile) -> Value {
        json!(self.json_form(source))
    }

    /// The JSON form, with lines and columns of its file.
    pub fn json_form(&self, source: &SourceFile) -> ProblemJson {
        let (start, end) = (source.line_column(self.span.start), source.line_column(self.span.end));
        ProblemJson {
            code: self.code.as_str().to_owned(),
            severity: AsWord(self.severity),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            title: self.title.clone(),
            label: self.label.clone(),
            help: self.help.clone(),
            fix: self.fix.as_ref().map(|fix| fix.text.clone()),
        }
    }
}
