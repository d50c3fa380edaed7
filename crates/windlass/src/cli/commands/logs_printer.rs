//! Prints the logs of steps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::plan::Plan;
use windlass_store::logs::LogId;

use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::{ColorMode, ColorRole, LineSplitter, TerminalCaps};
use crate::cli::run_source::BlockingRunSource;

/// Prints logs, each from the last printed position.
pub(super) struct LogPrinter<'a> {
    pub(super) reading: &'a BlockingRunSource,
    pub(super) plan: Arc<Plan>,
    pub(super) caps: &'a TerminalCaps,
    pub(super) form: LogPrintFormat,
    /// The printed position of each log, and its incomplete line.
    pub(super) ends: BTreeMap<LogId, (u64, LineSplitter)>,
    pub(super) last: Option<LogId>,
}

/// The format of printed output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogPrintFormat {
    /// Every byte unchanged: for files and programs.
    Raw,
    /// Lines without control sequences, except for colors.
    Lines(ColorMode),
    /// Lines, each as an object.
    Json,
}

impl LogPrintFormat {
    pub(super) const fn colour(self) -> ColorMode {
        match self {
            Self::Lines(colour) => colour,
            Self::Raw | Self::Json => ColorMode::Off,
        }
    }
}

/// Whether the output still has a reader.
type LogPrintResult = Result<bool, CliError>;

impl LogPrinter<'_> {
    pub(super) fn print_all(&mut self, logs: &[(LogId, u64)]) -> LogPrintResult {
        for (log, size) in logs {
            if *size > self.end(*log) && !self.print(*log, logs.len() > 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The printed position of a log.
    pub(super) fn end(&self, log: LogId) -> u64 {
        self.ends.get(&log).map_or(0, |(end, _)| *end)
    }

    /// Prints the new part of a log. With several logs, a heading names the step.
    pub(super) fn print(&mut self, log: LogId, several: bool) -> LogPrintResult {
        loop {
            let (reading, from) = (self.reading, self.end(log));
            let bytes = reading.wait(reading.source.log(log, from, Duration::ZERO))?.bytes;
            if bytes.is_empty() {
                return Ok(true);
            }
            if several && self.form != LogPrintFormat::Json && self.last != Some(log) {
                output::print_message(&self.caps.paint(ColorRole::Strong, &self.title(log)));
            }
            self.last = Some(log);
            if !self.put(log, from, &bytes) {
                return Ok(false);
            }
        }
    }

    pub(super) fn title(&self, log: LogId) -> String {
        let name = self.plan.name(log.step);
        match log.attempt {
            1 => format!("── {name}"),
            attempt => format!("── {name}, attempt {attempt}"),
        }
    }

    pub(super) fn put(&mut self, log: LogId, from: u64, bytes: &[u8]) -> bool {
        let begun = || (0, LineSplitter::new(self.form.colour()));
        let (end, lines) = self.ends.entry(log).or_insert_with(begun);
        *end = from + bytes.len() as u64;
        if self.form == LogPrintFormat::Raw {
            return output::print_bytes(bytes);
        }
        let mut text = Vec::new();
        lines.push(bytes, |line| text.push(line));
        text.into_iter().all(|line| self.put_line(log, &line))
    }

    pub(super) fn put_line(&self, log: LogId, line: &str) -> bool {
        if self.form != LogPrintFormat::Json {
            return output::print_bytes(format!("{line}\n").as_bytes());
        }
        let object = serde_json::json!({
            "run": log.run.to_string(), "step": log.step.0,
            "name": self.plan.name(log.step),
            "attempt": log.attempt, "delivery": log.delivery, "line": line,
        });
        output::print_bytes(format!("{object}\n").as_bytes())
    }

    /// Prints the incomplete lines: no further output comes.
    pub(super) fn close(&mut self) {
        for (log, (_, mut lines)) in std::mem::take(&mut self.ends) {
            if let Some(line) = lines.flush().filter(|_| self.form != LogPrintFormat::Raw) {
                self.put_line(log, &line);
            }
        }
    }
}
