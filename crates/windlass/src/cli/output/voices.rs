//! What running steps say, and whether it is shown now, later or never.

use std::collections::BTreeMap;

use windlass_core::time::{Span, Time};

use super::kept::Kept;
use super::lines::Lines;
use super::look::{Colour, Look, Manner};
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
    pub fn default_for(look: &Look, at_once: u32) -> Self {
        match look.manner {
            Manner::GitHub => Self::Group,
            _ if at_once <= 1 => Self::Stream,
            Manner::Live => Self::Failures,
            Manner::Plain => Self::Group,
        }
    }
}

/// A line that has begun is shown after this time, so that a prompt or a dot is seen. Long enough for the rest of a line
/// that is written in pieces.
const PARTIAL_MAX: Span = Span::millis(200);

/// The logs that are being written.
#[derive(Debug)]
pub(super) struct Voices {
    colour: Colour,
    voices: BTreeMap<LogId, Voice>,
}

#[derive(Debug)]
struct Voice {
    lines: Lines,
    /// Since when a line waits for its end.
    partial_since: Option<Time>,
    kept: Kept,
    manner: Speaks,
}

/// When a voice is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    /// As it speaks.
    Now,
    /// When it has ended.
    Later,
}

impl Voices {
    pub(super) fn new(colour: Colour) -> Self {
        Self { colour, voices: BTreeMap::new() }
    }

    /// Takes what a step printed and returns the lines that are to be shown at once.
    pub(super) fn hear(
        &mut self,
        now: Time,
        log: LogId,
        bytes: &[u8],
        first: Speaks,
    ) -> Vec<String> {
        let colour = self.colour;
        let voice = self.voices.entry(log).or_insert_with(|| Voice {
            lines: Lines::new(colour),
            partial_since: None,
            kept: Kept::default(),
            manner: first,
        });
        let mut shown = Vec::new();
        voice.lines.push(bytes, |line| match voice.manner {
            Speaks::Now => shown.push(line),
            Speaks::Later => voice.kept.push(line),
        });
        voice.partial_since = voice.lines.has_partial().then_some(now);
        shown
    }

    /// Lines that waited for their end for too long.
    pub(super) fn overdue(&mut self, now: Time) -> Vec<(LogId, String)> {
        let mut overdue = Vec::new();
        for (log, voice) in &mut self.voices {
            let late = voice.partial_since.is_some_and(|since| now.since(since) >= PARTIAL_MAX);
            if late && voice.manner == Speaks::Now {
                voice.partial_since = None;
                overdue.extend(voice.lines.flush().map(|line| (*log, line)));
            }
        }
        overdue
    }

    /// Whether the clock has to tick soon for a line that has begun.
    pub(super) fn waits(&self) -> bool {
        self.voices.values().any(|it| it.partial_since.is_some() && it.manner == Speaks::Now)
    }

    /// Changes when a voice is heard, and returns what it has said so far if that is now.
    pub(super) fn let_speak(&mut self, log: LogId, manner: Speaks) -> Vec<String> {
        let Some(voice) = self.voices.get_mut(&log) else {
            return Vec::new();
        };
        voice.manner = manner;
        match manner {
            Speaks::Now => std::mem::take(&mut voice.kept).into_lines().collect(),
            Speaks::Later => Vec::new(),
        }
    }

    /// The log has ended: returns all of it that was not shown.
    pub(super) fn end(&mut self, log: LogId) -> Vec<String> {
        let Some(mut voice) = self.voices.remove(&log) else {
            return Vec::new();
        };
        let last = voice.lines.flush();
        voice.kept.into_lines().chain(last).collect()
    }

    /// The newest line that a step printed and that was not shown.
    pub(super) fn newest(&self, log: LogId) -> Option<&str> {
        self.voices.get(&log)?.kept.newest()
    }

    /// The logs that are being written and hold lines back, oldest first.
    pub(super) fn held_back(&self) -> impl Iterator<Item = LogId> {
        let silent = self.voices.iter().filter(|(_, voice)| voice.kept.newest().is_some());
        silent.map(|(log, _)| *log)
    }
}
