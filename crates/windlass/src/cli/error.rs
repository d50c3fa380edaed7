//! Whatever went wrong, as the user is told it: a kind, words, what to do, and the exit code.

use super::exit;
use super::output::{ColorRole, TerminalCaps};
use super::render::ProblemReport;
use crate::db::StoreError;

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The request makes no sense here.
    Usage(CliErrorMessage),
    /// The file cannot be read.
    File(CliErrorMessage),
    /// The file was read, and is wrong.
    Pipeline(Box<ProblemReport>),
    /// The store, or whoever leads it, cannot be reached.
    Unreachable(CliErrorMessage),
    /// The file is sound, and the params that were given do not fit it.
    Params(Box<ProblemReport>),
    /// A file of settings is wrong.
    Config(Box<ProblemReport>),
}

/// What is wrong, and what to do.
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
    /// The request makes no sense.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::Usage(CliErrorMessage::new(what))
    }

    /// The file cannot be read.
    pub(crate) fn file(what: impl Into<String>) -> Self {
        Self::File(CliErrorMessage::new(what))
    }

    /// The store, or whoever leads it, cannot be reached.
    pub(crate) fn unreachable(what: impl Into<String>) -> Self {
        Self::Unreachable(CliErrorMessage::new(what))
    }

    /// The same, with what to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Usage(complaint) | Self::File(complaint) | Self::Unreachable(complaint) =
            &mut self
        {
            complaint.hint = Some(hint.into());
        }
        self
    }

    /// The same, with a last line about something else that the user must know.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        if let Self::Usage(complaint) | Self::File(complaint) | Self::Unreachable(complaint) =
            &mut self
        {
            complaint.note = Some(note.into());
        }
        self
    }

    /// The code that the program ends with.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Params(_) | Self::Config(_) => exit::USAGE,
            Self::File(_) | Self::Pipeline(_) => exit::INVALID_PIPELINE,
            Self::Unreachable(_) => exit::UNREACHABLE,
        }
    }

    /// What is said about it on standard error.
    pub(crate) fn text(&self, look: &TerminalCaps) -> String {
        match self {
            Self::Usage(complaint) | Self::File(complaint) | Self::Unreachable(complaint) => {
                complaint.text(look)
            }
            Self::Pipeline(report) | Self::Params(report) | Self::Config(report) => {
                report.text(look)
            }
        }
    }
}

impl CliErrorMessage {
    fn text(&self, look: &TerminalCaps) -> String {
        let what = format!("{} {}", look.paint(ColorRole::Bad, "error:"), self.what);
        let more = [("hint:", &self.hint), ("note:", &self.note)];
        let more = more.into_iter().filter_map(|(word, text)| Some((word, text.as_ref()?)));
        more.fold(what, |said, (word, text)| {
            format!("{said}\n  {} {text}", look.paint(ColorRole::Quiet, word))
        })
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::unreachable(error.to_string())
    }
}
