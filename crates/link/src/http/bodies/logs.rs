//! Bodies about the logs of a run.

use serde::{Deserialize, Serialize};
use windlass_core::id::{RunId, StepIx};
use windlass_core::json_form::AsWord;
use windlass_store::logs::{LogId, LogSearchLimit};

/// The log of one delivery of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Log"))]
pub struct LogEntryBody {
    /// The index of the step in its plan.
    pub step: u32,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The size of the log in bytes.
    pub size: u64,
}

impl LogEntryBody {
    /// A log of this size.
    pub const fn of(log: LogId, size: u64) -> Self {
        Self { step: log.step.0, attempt: log.attempt, delivery: log.delivery, size }
    }

    /// The id of the log.
    pub const fn log(self, run: RunId) -> LogId {
        let Self { step, attempt, delivery, .. } = self;
        LogId::new(run, StepIx(step), attempt, delivery)
    }
}

/// The last summary that a step wrote to `$WINDLASS_SUMMARY`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StepSummary"))]
pub struct StepSummaryBody {
    /// The index of the step in its plan.
    pub step: u32,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The summary in Markdown.
    pub text: String,
}

impl StepSummaryBody {
    /// The summary of one delivery.
    pub const fn of(log: LogId, text: String) -> Self {
        Self { step: log.step.0, attempt: log.attempt, delivery: log.delivery, text }
    }

    /// The delivery that wrote the summary.
    pub const fn log(&self, run: RunId) -> LogId {
        LogId::new(run, StepIx(self.step), self.attempt, self.delivery)
    }
}

/// The lines of a run's logs that contain a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LogSearch"))]
pub struct LogSearchBody {
    /// The lines, in the order of the logs.
    pub lines: Vec<LogSearchLineBody>,
    /// The number of bytes that were searched.
    pub bytes: u64,
    /// The limit that ended the search: `limit` lines were found, or it read as many `bytes`, or took as much `time`, as a
    /// search may. Null if it searched everything.
    pub cut: Option<AsWord<LogSearchLimit>>,
}

/// A line that contains the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LogSearchLine"))]
pub struct LogSearchLineBody {
    /// The index of the step in its plan.
    pub step: u32,
    /// The name of the step.
    pub name: String,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The number of the line in the log, from 1.
    pub line: u64,
    /// The offset of the line's first byte.
    pub at: u64,
    /// The line, or the part of a long line that contains the text.
    pub text: String,
}
