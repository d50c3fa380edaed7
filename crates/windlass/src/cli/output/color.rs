//! Colours, each with one meaning.

use super::terminal_caps::{ColorMode, TerminalCaps};

/// What a colour says. Names have colours of their own, none of which means good or bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorRole {
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// Somebody should look.
    Warn,
    /// Less important than the rest.
    Quiet,
    /// More important than the rest.
    Strong,
    /// The step of this number, told from others.
    Name(u32),
}

/// Cyan, magenta and blue, dark and bright: green, red and yellow mean something.
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
    /// The text in this ink, or as it is where there are no colours.
    pub fn paint(&self, ink: ColorRole, text: &str) -> String {
        match self.color {
            ColorMode::On if !text.is_empty() => format!("\x1b[{}m{text}\x1b[0m", ink.code()),
            ColorMode::On | ColorMode::Off => text.to_owned(),
        }
    }
}
