//! Log records of long-running processes, as `tracing` events with the known fields.

use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing::{Level, event, info};
use windlass_core::id::{Fence, RunId};
use windlass_core::report::UtcTime;
use windlass_core::spec::nearest_name;
use windlass_core::time::Time;

/// The target of records. Events of windlass without a subject have the path of their module, which begins with it.
pub(super) const TARGET: &str = "windlass";

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum LogLevel {
    /// The process cannot continue, or has a defect.
    Error,
    /// An operator may have to act.
    Warn,
    /// Occasional events.
    Info,
    /// Frequent events.
    Debug,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogLevel {
    const ALL: [(&'static str, Self); 4] = [
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
    ];

    /// The level and those above it, as a filter.
    pub(in crate::cli) const fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }

    /// Whether any subscriber takes records of this level.
    pub(in crate::cli) fn is_enabled(self) -> bool {
        self.filter() <= LevelFilter::current()
    }
}

impl LogFormat {
    const ALL: [(&'static str, Self); 2] = [("text", Self::Text), ("json", Self::Json)];
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        one_of(&Self::ALL, text)
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        one_of(&Self::ALL, text)
    }
}

fn one_of<T: Copy>(known: &[(&str, T)], text: &str) -> Result<T, String> {
    if let Some((_, it)) = known.iter().find(|(word, _)| *word == text) {
        return Ok(*it);
    }
    let words = || known.iter().map(|(word, _)| *word);
    Err(match nearest_name(text, words()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("use one of {}", words().collect::<Vec<_>>().join(", ")),
    })
}

/// A log record.
#[derive(Clone, Debug)]
pub(in crate::cli) struct LogRecord {
    pub(in crate::cli) level: LogLevel,
    /// The time of the event (default: now).
    pub(in crate::cli) at: Option<Time>,
    pub(in crate::cli) message: String,
    pub(in crate::cli) about: LogFields,
}

/// The subject of a record. Every line about it has the known fields.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct LogFields {
    pub(in crate::cli) run: Option<RunId>,
    pub(in crate::cli) pipeline: Option<String>,
    pub(in crate::cli) step: Option<String>,
    /// The attempt number, and the delivery number within that attempt.
    pub(in crate::cli) attempt: Option<(u16, u16)>,
    pub(in crate::cli) worker: Option<String>,
    pub(in crate::cli) fence: Option<Fence>,
    /// The author of an action.
    pub(in crate::cli) by: Option<String>,
}

/// Emits a record at a level, which `tracing` needs as a constant.
macro_rules! emit_at {
    ($level:expr, $record:expr) => {{
        let LogRecord { at, message, about, .. } = $record;
        event!(
            target: TARGET,
            $level,
            time = at.map(|at| tracing::field::display(UtcTime(at))),
            run = about.run.map(tracing::field::display),
            pipeline = about.pipeline,
            step = about.step,
            attempt = about.attempt.map(|(attempt, _)| attempt),
            delivery = about.attempt.map(|(_, delivery)| delivery),
            worker = about.worker,
            fence = about.fence.map(|fence| fence.0),
            by = about.by,
            "{message}"
        );
    }};
}

impl LogRecord {
    /// Emits the record.
    pub(in crate::cli) fn emit(&self) {
        match self.level {
            LogLevel::Error => emit_at!(Level::ERROR, self),
            LogLevel::Warn => emit_at!(Level::WARN, self),
            LogLevel::Info => emit_at!(Level::INFO, self),
            LogLevel::Debug => emit_at!(Level::DEBUG, self),
        }
    }
}

/// Logs text of several lines; in JSON format only the first line.
pub(in crate::cli) fn log_banner(text: &str) {
    info!(target: TARGET, banner = text, "{}", text.lines().next().unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_log_level_is_corrected() {
        assert_eq!("warn".parse(), Ok(LogLevel::Warn));
        assert_eq!("debgu".parse::<LogLevel>(), Err("did you mean `debug`?".to_owned()));
        assert_eq!("xml".parse::<LogFormat>(), Err("use one of text, json".to_owned()));
    }
}
