//! The failure of a step in Rust: its error as a value, the same on every machine.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::outcome::{StepOutput, StepValue};

/// Maximum bytes of one text of a failure; a longer text is truncated.
const TEXT_MAX: usize = 4 << 10;
/// Maximum bytes of a backtrace: about a hundred frames.
const BACKTRACE_MAX: usize = 16 << 10;
/// Maximum number of causes.
const CAUSES_MAX: usize = 16;

/// An error of a step with its causes. It travels with the outcome of the attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepFailure {
    /// The kind of the failure.
    pub kind: StepFailureKind,
    /// The type name of the error in Rust.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub type_name: String,
    /// The message.
    pub message: String,
    /// The messages of its causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The origin: a location in the source, or the frames of the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepFailureKind {
    /// The step returned an error.
    #[default]
    Error,
    /// The step panicked.
    Panic,
    /// The step could not be called, or its result could not be stored.
    Refused,
    /// The worker had no disk space for the output of the step.
    OutputLost,
}

/// Finds the failure in an output.
#[derive(Serialize, Deserialize)]
struct FailureOutput {
    error: StepFailure,
}

impl StepFailure {
    /// Creates a failure of a kind with this message only.
    pub fn new(kind: StepFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), ..Self::default() }
    }

    /// Encodes it for the outcome; long texts are truncated.
    pub fn to_output(&self) -> StepOutput {
        let mut error = self.clone();
        truncate(&mut error.message, TEXT_MAX);
        truncate(&mut error.type_name, TEXT_MAX);
        error.causes.truncate(CAUSES_MAX);
        error.causes.iter_mut().for_each(|cause| truncate(cause, TEXT_MAX / 4));
        error.backtrace.iter_mut().for_each(|frames| truncate(frames, BACKTRACE_MAX));
        let text = serde_json::to_string(&FailureOutput { error });
        StepOutput::inline(text.expect("texts can be written as JSON"))
    }

    /// Decodes the failure of an outcome, if it has one.
    pub fn of_output(output: &StepOutput) -> Option<Self> {
        let StepValue::Inline(text) = &output.value else { return None };
        serde_json::from_str(text).ok().map(|told: FailureOutput| told.error)
    }

    /// Masks secrets in each of its texts.
    #[must_use]
    pub fn masked(self, cover: impl Fn(&str) -> String) -> Self {
        Self {
            kind: self.kind,
            type_name: self.type_name,
            message: cover(&self.message),
            causes: self.causes.iter().map(|cause| cover(cause)).collect(),
            backtrace: self.backtrace.map(|frames| cover(&frames)),
        }
    }
}

fn truncate(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

/// Formats the message and all causes, each on a line of its own.
impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == StepFailureKind::Panic {
            f.write_str("it panicked: ")?;
        }
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, "\n  because: {cause}"))
    }
}

impl std::error::Error for StepFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_comes_out_as_it_went_in_unless_it_is_endless() {
        let failure = StepFailure {
            kind: StepFailureKind::Panic,
            type_name: "ship::Flaky".to_owned(),
            message: "no luck".to_owned(),
            causes: vec!["the farm is away".to_owned(), "no route".to_owned()],
            backtrace: Some("src/main.rs:7:3".to_owned()),
        };
        assert_eq!(StepFailure::of_output(&failure.to_output()), Some(failure.clone()));
        let text = "it panicked: no luck\n  because: the farm is away\n  because: no route";
        assert_eq!(failure.to_string(), text);
        let endless = StepFailure { message: "é".repeat(100_000), ..failure };
        assert!(endless.to_output().fits());
        assert_eq!(StepFailure::of_output(&StepOutput::inline("{\"version\":1}")), None);
    }
}
