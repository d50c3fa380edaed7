//! Colors, each with one meaning.

use super::terminal_caps::{ColorMode, TerminalCaps};

/// The meaning of a color. Names have colors that mean neither success nor failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorRole {
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Needs attention.
    Warn,
    /// Less important text.
    Quiet,
    /// More important text.
    Strong,
    /// The name of the step with this number.
    Name(u32),
}

/// Cyan, magenta and blue, dark and bright: green, red and yellow have a meaning.
const NAMES: [&str; 6] = ["36", "35", "34", "96", "95", "94"];

impl ColorRole {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warn => "33",
            Self::Quiet => "2",
            Self::Strong => "1",
            Self::Name(number) => NAMES[number as usize % NAMES.len()],
        }
    }
}

impl TerminalCaps {
    /// The text in this color, or unchanged without colors.
    pub(crate) fn paint(&self, ink: ColorRole, text: &str) -> String {
        match self.color {
            ColorMode::On if !text.is_empty() => format!("\x1b[{}m{text}\x1b[0m", ink.code()),
            ColorMode::On | ColorMode::Off => text.to_owned(),
        }
    }
}
