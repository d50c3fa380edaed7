//! Errors as the user sees them: a kind, a message, a hint, and the exit code.

use windlass_store::db::StoreError;

use super::exit;
use super::output::{ColorRole, TerminalCaps};
use super::render::ProblemReport;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The request is not possible here.
    Usage(CliErrorMessage),
    /// The file cannot be read.
    File(CliErrorMessage),
    /// The file is readable but invalid.
    Pipeline(Box<ProblemReport>),
    /// The store or its leader is unreachable.
    Unreachable(CliErrorMessage),
    /// The file is valid, but the given params do not fit it.
    Params(Box<ProblemReport>),
    /// A settings file is invalid.
    Config(Box<ProblemReport>),
}

/// A message and its hints.
#[derive(Debug)]
pub(crate) struct CliErrorMessage {
    what: String,
    hint: Option<String>,
    note: Option<String>,
}

impl CliErrorMessage {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, note: None }
    }
}

impl CliError {
    /// The request is not possible.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::Usage(CliErrorMessage::new(what))
    }

    /// The file cannot be read.
    pub(crate) fn file(what: impl Into<String>) -> Self {
        Self::File(CliErrorMessage::new(what))
    }

    /// The store or its leader is unreachable.
    pub(crate) fn unreachable(what: impl Into<String>) -> Self {
        Self::Unreachable(CliErrorMessage::new(what))
    }

    /// Adds a hint with the next action.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Usage(complaint) | Self::File(complaint) | Self::Unreachable(complaint) =
            &mut self
        {
            complaint.hint = Some(hint.into());
        }
        self
    }

    /// Adds a last line about another fact that the user must know.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        if let Self::Usage(complaint) | Self::File(complaint) | Self::Unreachable(complaint) =
            &mut self
        {
            complaint.note = Some(note.into());
        }
        self
    }

    /// The exit code of the program.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Params(_) | Self::Config(_) => exit::USAGE,
            Self::File(_) | Self::Pipeline(_) => exit::INVALID_PIPELINE,
            Self::Unreachable(_) => exit::UNREACHABLE,
        }
    }

    /// The text for standard error.
    pub(crate) fn text(&self, caps: &TerminalCaps) -> String {
        match self {
            Self::Usage(complaint) | Self::File(complaint) | Self::Unreachable(complaint) => {
                complaint.text(caps)
            }
            Self::Pipeline(report) | Self::Params(report) | Self::Config(report) => {
                report.text(caps)
            }
        }
    }
}

impl CliErrorMessage {
    fn text(&self, caps: &TerminalCaps) -> String {
        let what = format!("{} {}", caps.paint(ColorRole::Bad, "error:"), self.what);
        let more = [("hint:", &self.hint), ("note:", &self.note)];
        let more = more.into_iter().filter_map(|(word, text)| Some((word, text.as_ref()?)));
        more.fold(what, |said, (word, text)| {
            format!("{said}\n  {} {text}", caps.paint(ColorRole::Quiet, word))
        })
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::unreachable(error.to_string())
    }
}
