//! The streams of a delivery.

use serde::{Deserialize, Serialize};

use super::interface::LogId;

/// Maximum bytes of a large result: a worker can hold it twice beside its steps, and a leader can read it in a second.
pub const VALUE_MAX: u64 = 16 << 20;

/// The content of a log of a delivery.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    /// The output that the step printed.
    #[default]
    Output,
    /// The summary that the step wrote for people (`$WINDLASS_SUMMARY`).
    Notes,
    /// A result that is too large for its outcome.
    Value,
    /// The test report that the step wrote, as JSON.
    Tests,
}

impl LogStream {
    /// Every stream, in order.
    pub const ALL: [Self; 4] = [Self::Output, Self::Notes, Self::Value, Self::Tests];

    /// Returns its name, for tables and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Notes => "notes",
            Self::Value => "value",
            Self::Tests => "tests",
        }
    }

    /// Returns the stream with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.name() == name)
    }
}

impl LogId {
    /// Returns another stream of the same delivery.
    #[must_use]
    pub const fn stream(self, stream: LogStream) -> Self {
        Self { stream, ..self }
    }

    /// Returns the output of the same delivery.
    #[must_use]
    pub const fn output(self) -> Self {
        self.stream(LogStream::Output)
    }

    /// Returns the notes of the same delivery.
    #[must_use]
    pub const fn notes(self) -> Self {
        self.stream(LogStream::Notes)
    }

    /// Returns the test report of the same delivery.
    #[must_use]
    pub const fn tests(self) -> Self {
        self.stream(LogStream::Tests)
    }

    /// Returns the large result of the same delivery.
    #[must_use]
    pub const fn value(self) -> Self {
        self.stream(LogStream::Value)
    }
}
