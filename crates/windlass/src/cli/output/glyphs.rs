//! The signs before steps and between things.

use windlass_core::outcome::StepStatus;

use super::color::ColorRole;
use super::terminal_caps::{GlyphSet, TerminalCaps};

impl TerminalCaps {
    fn glyph(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self.glyphs {
            GlyphSet::Unicode => unicode,
            GlyphSet::Ascii => ascii,
        }
    }

    /// The sign of a status, one column wide, in its colour.
    pub(super) fn status_glyph(&self, status: StepStatus) -> String {
        let (unicode, ascii) = match status {
            StepStatus::Succeeded => ("✓", "+"),
            StepStatus::Failed | StepStatus::TimedOut => ("✗", "x"),
            StepStatus::Cancelled => ("■", "#"),
            StepStatus::Skipped => ("-", "-"),
            StepStatus::Blocked => ("○", "o"),
            StepStatus::Cached => ("=", "="),
            StepStatus::Leased | StepStatus::Running => ("●", "*"),
            StepStatus::Waiting | StepStatus::Ready => ("·", "."),
        };
        self.paint(status_color(status), self.glyph(unicode, ascii))
    }

    /// The sign of a try that is not the last.
    pub(super) fn retry_glyph(&self) -> String {
        self.paint(ColorRole::Warn, self.glyph("↻", "~"))
    }

    /// What stands between a step's name and what it printed.
    pub(super) fn name_separator(&self) -> &'static str {
        self.glyph("│", "|")
    }

    /// What stands for text that was left out.
    pub(super) fn ellipsis(&self) -> &'static str {
        self.glyph("…", "...")
    }

    /// From one step to the next.
    pub(super) fn arrow(&self) -> &'static str {
        self.glyph("→", "->")
    }

    /// What a progress bar is made of: done and not done.
    pub(super) fn blocks(&self) -> (&'static str, &'static str) {
        (self.glyph("━", "#"), self.glyph("─", "-"))
    }
}

/// The colour of a status: only what needs a look has one that is seen from afar.
pub(super) const fn status_color(status: StepStatus) -> ColorRole {
    match status {
        StepStatus::Succeeded => ColorRole::Good,
        StepStatus::Failed | StepStatus::TimedOut => ColorRole::Bad,
        StepStatus::Cancelled | StepStatus::Blocked => ColorRole::Warn,
        StepStatus::Leased | StepStatus::Running => ColorRole::Strong,
        StepStatus::Skipped | StepStatus::Cached | StepStatus::Waiting | StepStatus::Ready => {
            ColorRole::Quiet
        }
    }
}
