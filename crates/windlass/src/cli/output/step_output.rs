//! The output of running steps: shown immediately, at the end, or never.

use std::collections::BTreeMap;

use windlass_core::time::{Span, Time};
use windlass_store::logs::LogId;

use super::line_splitter::LineSplitter;
use super::output_buffer::StepOutputBuffer;
use super::terminal_caps::{ColorMode, DisplayKind, TerminalCaps};

/// The output mode of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// Each line at once, after the name of its step.
    Stream,
    /// The output of a step when it has ended.
    Group,
    /// The output of failed steps.
    Failures,
    /// No output.
    None,
}

impl OutputMode {
    /// The default mode. A single step is shown as if it ran by hand. The output of several steps on a terminal is
    /// shown only if one fails; a log for later reading gets all output, step by step.
    pub(crate) fn default_for(caps: &TerminalCaps, at_once: u32) -> Self {
        match caps.display {
            DisplayKind::GitHub => Self::Group,
            _ if at_once <= 1 => Self::Stream,
            DisplayKind::Live => Self::Failures,
            DisplayKind::Plain => Self::Group,
        }
    }
}

/// An incomplete line is shown after this time, so that a prompt or a dot is visible. Long enough for the rest of a
/// line that is written in pieces.
const PARTIAL_MAX: Span = Span::millis(200);

/// The output streams of running steps.
#[derive(Debug)]
pub(super) struct StepOutputStreams {
    color: ColorMode,
    streams: BTreeMap<LogId, StepOutputStream>,
}

#[derive(Debug)]
struct StepOutputStream {
    lines: LineSplitter,
    /// When the incomplete line started.
    partial_since: Option<Time>,
    buffer: StepOutputBuffer,
    timing: OutputTiming,
}

/// When output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputTiming {
    /// Immediately.
    Immediate,
    /// When the step has ended.
    AtEnd,
}

impl StepOutputStreams {
    pub(super) fn new(color: ColorMode) -> Self {
        Self { color, streams: BTreeMap::new() }
    }

    /// Takes output of a step and returns the lines to show at once.
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

    /// Incomplete lines that have waited too long.
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

    /// Whether an incomplete line needs a tick soon.
    pub(super) fn waits(&self) -> bool {
        self.streams
            .values()
            .any(|it| it.partial_since.is_some() && it.timing == OutputTiming::Immediate)
    }

    /// Changes the timing of a stream, and returns its buffered lines if they are to be shown now.
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

    /// Ends a stream; returns its remaining lines.
    pub(super) fn end(&mut self, log: LogId) -> Vec<String> {
        let Some(mut voice) = self.streams.remove(&log) else {
            return Vec::new();
        };
        let last = voice.lines.flush();
        voice.buffer.into_lines().chain(last).collect()
    }

    /// The newest line of a step that was not shown.
    pub(super) fn newest(&self, log: LogId) -> Option<&str> {
        self.streams.get(&log)?.buffer.newest()
    }

    /// The running streams with buffered lines, oldest first.
    pub(super) fn held_back(&self) -> impl Iterator<Item = LogId> {
        let silent = self.streams.iter().filter(|(_, voice)| voice.buffer.newest().is_some());
        silent.map(|(log, _)| *log)
    }
}
