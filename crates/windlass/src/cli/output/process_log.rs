//! Log lines of long-running processes: text, or objects for programs.

use std::str::FromStr;

use serde_json::{Map, Value};
use windlass_core::display_text::is_unsafe_to_display;
use windlass_core::id::{Fence, RunId};
use windlass_core::report::UtcTime;
use windlass_core::spec::nearest_name;
use windlass_core::time::Time;

use super::print::print_message;

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

    fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
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

impl LogRecord {
    /// A record without a subject.
    pub(in crate::cli) fn new(level: LogLevel, message: impl Into<String>) -> Self {
        Self { level, at: None, message: message.into(), about: LogFields::default() }
    }

    fn text(&self) -> String {
        let clock = self.at.map(|at| UtcTime(at).to_string());
        let clock = clock.as_deref().and_then(|text| text.get(11..19));
        // A record is one line, even if a name or a foreign error contains line ends.
        let message = plain(&self.message);
        clock.map_or_else(|| message.clone(), |clock| format!("{clock} {message}"))
    }

    fn object(&self, now: Time) -> Value {
        let LogFields { run, pipeline, step, attempt, worker, fence, by } = &self.about;
        let mut object = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            object.extend(value.map(|value| (key.to_owned(), value)));
        };
        put("time", Some(UtcTime(self.at.unwrap_or(now)).to_string().into()));
        put("level", Some(self.level.word().into()));
        put("message", Some(self.message.clone().into()));
        put("run", run.map(|run| run.to_string().into()));
        put("pipeline", pipeline.clone().map(Into::into));
        put("step", step.clone().map(Into::into));
        put("attempt", attempt.map(|(attempt, _)| attempt.into()));
        put("delivery", attempt.map(|(_, delivery)| delivery.into()));
        put("worker", worker.clone().map(Into::into));
        put("fence", fence.map(|fence| fence.0.into()));
        put("by", by.clone().map(Into::into));
        Value::Object(object)
    }
}

/// The text as one line without control sequences.
fn plain(text: &str) -> String {
    let shown = |c: char| if is_unsafe_to_display(c) { '\u{fffd}' } else { c };
    text.lines().map(|line| line.chars().map(shown).collect()).collect::<Vec<String>>().join(" ")
}

/// Writes records above a level, in the configured format.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Logger {
    pub(in crate::cli) format: LogFormat,
    pub(in crate::cli) level: LogLevel,
    pub(in crate::cli) clock: fn() -> Time,
}

impl Logger {
    /// Whether records of a level are written.
    pub(in crate::cli) fn is_enabled(&self, level: LogLevel) -> bool {
        level <= self.level
    }

    /// Writes a record.
    pub(in crate::cli) fn log(&self, said: &LogRecord) {
        if self.is_enabled(said.level) {
            match self.format {
                LogFormat::Text => print_message(&said.text()),
                LogFormat::Json => print_message(&said.object((self.clock)()).to_string()),
            }
        }
    }

    /// Writes a record without a subject.
    pub(in crate::cli) fn log_message(&self, level: LogLevel, message: impl Into<String>) {
        self.log(&LogRecord::new(level, message));
    }

    /// Writes text of several lines; in JSON format only the first line.
    pub(in crate::cli) fn log_banner(&self, text: &str) {
        match self.format {
            LogFormat::Text if self.is_enabled(LogLevel::Info) => print_message(text),
            LogFormat::Text => {}
            LogFormat::Json => {
                self.log_message(LogLevel::Info, text.lines().next().unwrap_or_default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> LogRecord {
        LogRecord {
            level: LogLevel::Warn,
            at: Some(Time::from_millis(3_723_004)),
            message: "run 7 \"s\"\n\u{1b}[2J is lost".to_owned(),
            about: LogFields {
                run: Some(RunId(7)),
                pipeline: Some("ship".to_owned()),
                step: Some("test[a\nb]".to_owned()),
                attempt: Some((2, 3)),
                worker: Some("far".to_owned()),
                fence: Some(Fence(9)),
                by: Some("token ci".to_owned()),
            },
        }
    }

    #[test]
    fn text_record_is_one_line_without_control_sequences() {
        assert_eq!(said().text(), "01:02:03 run 7 \"s\" \u{fffd}[2J is lost");
    }

    #[test]
    fn json_record_has_every_known_field() {
        let expected = serde_json::json!({
            "time": "1970-01-01T01:02:03.004Z", "level": "warn",
            "message": "run 7 \"s\"\n\u{1b}[2J is lost", "run": "7", "pipeline": "ship",
            "step": "test[a\nb]", "attempt": 2, "delivery": 3, "worker": "far", "fence": 9,
            "by": "token ci",
        });
        assert_eq!(said().object(Time::ZERO), expected);
        let bare = LogRecord::new(LogLevel::Info, "hello").object(Time::ZERO);
        let expected = serde_json::json!({
            "time": "1970-01-01T00:00:00.000Z", "level": "info", "message": "hello",
        });
        assert_eq!(bare, expected);
        assert!(!said().object(Time::ZERO).to_string().contains('\n'));
    }

    #[test]
    fn misspelt_log_level_is_corrected() {
        assert_eq!("warn".parse(), Ok(LogLevel::Warn));
        assert_eq!("debgu".parse::<LogLevel>(), Err("did you mean `debug`?".to_owned()));
        assert_eq!("xml".parse::<LogFormat>(), Err("use one of text, json".to_owned()));
    }
}
