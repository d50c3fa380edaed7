//! The glyphs before steps and between items.

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

    /// The glyph of a status, one column wide, in its color.
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

    /// The glyph of a try that is not the last.
    pub(super) fn retry_glyph(&self) -> String {
        self.paint(ColorRole::Warn, self.glyph("↻", "~"))
    }

    /// The separator between a step's name and its output.
    pub(super) fn name_separator(&self) -> &'static str {
        self.glyph("│", "|")
    }

    /// The glyph for omitted text.
    pub(super) fn ellipsis(&self) -> &'static str {
        self.glyph("…", "...")
    }

    /// The arrow from one step to the next.
    pub(super) fn arrow(&self) -> &'static str {
        self.glyph("→", "->")
    }

    /// The parts of a progress bar: done and not done.
    pub(super) fn blocks(&self) -> (&'static str, &'static str) {
        (self.glyph("━", "#"), self.glyph("─", "-"))
    }
}

/// The color of a status: only statuses that need attention stand out.
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
