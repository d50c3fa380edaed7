//! What running steps say, and whether it is shown now, later or never.

use std::collections::BTreeMap;

use windlass_core::time::{Span, Time};

use super::line_splitter::LineSplitter;
use super::output_buffer::StepOutputBuffer;
use super::terminal_caps::{ColorMode, DisplayKind, TerminalCaps};
use crate::logs::LogId;

/// What is shown of what steps print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// Each line as it comes, behind the name of its step.
    Stream,
    /// All of a step when it has ended.
    Group,
    /// That of steps that failed.
    Failures,
    /// Nothing.
    None,
}

impl OutputMode {
    /// What is best where nobody chose: one step at a time is watched as if it were run by hand. Many at a time are noise
    /// to somebody at a terminal until one fails; a log that is read later should have everything, step by step.
    pub fn default_for(look: &TerminalCaps, at_once: u32) -> Self {
        match look.display {
            DisplayKind::GitHub => Self::Group,
            _ if at_once <= 1 => Self::Stream,
            DisplayKind::Live => Self::Failures,
            DisplayKind::Plain => Self::Group,
        }
    }
}

/// A line that has begun is shown after this time, so that a prompt or a dot is seen. Long enough for the rest of a line
/// that is written in pieces.
const PARTIAL_MAX: Span = Span::millis(200);

/// The logs that are being written.
#[derive(Debug)]
pub(super) struct StepOutputStreams {
    color: ColorMode,
    streams: BTreeMap<LogId, StepOutputStream>,
}

#[derive(Debug)]
struct StepOutputStream {
    lines: LineSplitter,
    /// Since when a line waits for its end.
    partial_since: Option<Time>,
    buffer: StepOutputBuffer,
    timing: OutputTiming,
}

/// When a voice is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputTiming {
    /// As it speaks.
    Immediate,
    /// When it has ended.
    AtEnd,
}

impl StepOutputStreams {
    pub(super) fn new(color: ColorMode) -> Self {
        Self { color, streams: BTreeMap::new() }
    }

    /// Takes what a step printed and returns the lines that are to be shown at once.
    pub(super) fn feed_output(
        &mut self,
        now: Time,
        log: LogId,
        bytes: &[u8],
        first: OutputTiming,
    ) -> Vec<String> {
        let colour = self.color;
        let voice = self.streams.entry(log).or_insert_with(|| StepOutputStream {
            lines: LineSplitter::new(colour),
            partial_since: None,
            buffer: StepOutputBuffer::default(),
            timing: first,
        });
        let mut shown = Vec::new();
        voice.lines.push(bytes, |line| match voice.timing {
            OutputTiming::Immediate => shown.push(line),
            OutputTiming::AtEnd => voice.buffer.push(line),
        });
        voice.partial_since = voice.lines.has_partial().then_some(now);
        shown
    }

    /// Lines that waited for their end for too long.
    pub(super) fn overdue(&mut self, now: Time) -> Vec<(LogId, String)> {
        let mut overdue = Vec::new();
        for (log, voice) in &mut self.streams {
            let late = voice.partial_since.is_some_and(|since| now.since(since) >= PARTIAL_MAX);
            if late && voice.timing == OutputTiming::Immediate {
                voice.partial_since = None;
                overdue.extend(voice.lines.flush().map(|line| (*log, line)));
            }
        }
        overdue
    }

    /// Whether the clock has to tick soon for a line that has begun.
    pub(super) fn waits(&self) -> bool {
        self.streams
            .values()
            .any(|it| it.partial_since.is_some() && it.timing == OutputTiming::Immediate)
    }

    /// Changes when a voice is heard, and returns what it has said so far if that is now.
    pub(super) fn set_timing(&mut self, log: LogId, manner: OutputTiming) -> Vec<String> {
        let Some(voice) = self.streams.get_mut(&log) else {
            return Vec::new();
        };
        voice.timing = manner;
        match manner {
            OutputTiming::Immediate => std::mem::take(&mut voice.buffer).into_lines().collect(),
            OutputTiming::AtEnd => Vec::new(),
        }
    }

    /// The log has ended: returns all of it that was not shown.
    pub(super) fn end(&mut self, log: LogId) -> Vec<String> {
        let Some(mut voice) = self.streams.remove(&log) else {
            return Vec::new();
        };
        let last = voice.lines.flush();
        voice.buffer.into_lines().chain(last).collect()
    }

    /// The newest line that a step printed and that was not shown.
    pub(super) fn newest(&self, log: LogId) -> Option<&str> {
        self.streams.get(&log)?.buffer.newest()
    }

    /// The logs that are being written and hold lines back, oldest first.
    pub(super) fn held_back(&self) -> impl Iterator<Item = LogId> {
        let silent = self.streams.iter().filter(|(_, voice)| voice.buffer.newest().is_some());
        silent.map(|(log, _)| *log)
    }
}
