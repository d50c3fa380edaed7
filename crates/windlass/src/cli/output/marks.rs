//! The signs before steps and between things.

use windlass_core::outcome::StepStatus;

use super::ink::Ink;
use super::look::{Look, Signs};

impl Look {
    fn sign(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self.signs {
            Signs::Unicode => unicode,
            Signs::Ascii => ascii,
        }
    }

    /// The sign of a status, one column wide, in its colour.
    pub(super) fn mark(&self, status: StepStatus) -> String {
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
        self.paint(ink_of(status), self.sign(unicode, ascii))
    }

    /// The sign of a try that is not the last.
    pub(super) fn again(&self) -> String {
        self.paint(Ink::Warn, self.sign("↻", "~"))
    }

    /// What stands between a step's name and what it printed.
    pub(super) fn bar(&self) -> &'static str {
        self.sign("│", "|")
    }

    /// What stands for text that was left out.
    pub(super) fn ellipsis(&self) -> &'static str {
        self.sign("…", "...")
    }

    /// From one step to the next.
    pub(super) fn arrow(&self) -> &'static str {
        self.sign("→", "->")
    }

    /// What a progress bar is made of: done and not done.
    pub(super) fn blocks(&self) -> (&'static str, &'static str) {
        (self.sign("━", "#"), self.sign("─", "-"))
    }
}

/// The colour of a status: only what needs a look has one that is seen from afar.
pub(super) const fn ink_of(status: StepStatus) -> Ink {
    match status {
        StepStatus::Succeeded => Ink::Good,
        StepStatus::Failed | StepStatus::TimedOut => Ink::Bad,
        StepStatus::Cancelled | StepStatus::Blocked => Ink::Warn,
        StepStatus::Leased | StepStatus::Running => Ink::Strong,
        StepStatus::Skipped | StepStatus::Cached | StepStatus::Waiting | StepStatus::Ready => {
            Ink::Quiet
        }
    }
}
