//! What the reader's terminal can do, and how to speak to it.

/// How text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalCaps {
    /// Whether colours are used.
    pub color: ColorMode,
    /// Which signs are used.
    pub glyphs: GlyphSet,
    /// Whether a block can be pinned below the lines, or what else takes them.
    pub display: DisplayKind,
    /// Columns of a line; text that must be whole is not cut to them.
    pub width: usize,
}

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMode {
    /// They are.
    On,
    /// They are not: text says everything by itself.
    Off,
}

/// Which signs are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlyphSet {
    /// `✓ ✗ │ …`.
    Unicode,
    /// What every terminal has.
    Ascii,
}

/// Who takes the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayKind {
    /// A terminal with somebody before it: a block is pinned below the lines.
    Live,
    /// A file, a pipe, a log: lines only, each complete in itself.
    Plain,
    /// The log of GitHub Actions, which folds groups and shows annotations.
    GitHub,
}

/// Columns where nobody says how many there are: what people expect of a log.
const WIDTH_DEFAULT: usize = 100;

impl TerminalCaps {
    /// Lines without colours or terminal, as a pipe gets them.
    pub const PLAIN: Self = Self {
        color: ColorMode::Off,
        glyphs: GlyphSet::Unicode,
        display: DisplayKind::Plain,
        width: WIDTH_DEFAULT,
    };

    /// Chooses by the environment: `NO_COLOR`, `FORCE_COLOR` and `CLICOLOR_FORCE` as their sites define them, a dumb
    /// terminal, `CI` and pipes get plain lines.
    ///
    /// `variable` looks up an environment variable; `terminal` says whether the stream is one, `text_width` its columns.
    pub fn detect(
        variable: &dyn Fn(&str) -> Option<String>,
        terminal: bool,
        width: Option<usize>,
    ) -> Self {
        let set =
            |name: &str| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        let github = variable("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let display = match terminal {
            _ if github => DisplayKind::GitHub,
            true if !dumb && !set("CI") => DisplayKind::Live,
            _ => DisplayKind::Plain,
        };
        // GitHub's log is no terminal and shows colours all the same.
        let able = github || (terminal && !dumb);
        let color = match () {
            () if set("NO_COLOR") => ColorMode::Off,
            () if set("FORCE_COLOR") || set("CLICOLOR_FORCE") || able => ColorMode::On,
            () => ColorMode::Off,
        };
        Self {
            color,
            glyphs: signs(variable),
            display,
            width: width.unwrap_or(WIDTH_DEFAULT).max(1),
        }
    }
}

/// The locale says whether the terminal reads UTF-8; where nobody set one, everything modern does.
fn signs(variable: &dyn Fn(&str) -> Option<String>) -> GlyphSet {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| {
        let value = variable(name);
        value.filter(|value| !value.is_empty())
    });
    let other = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        !utf8 && (locale.contains('.') || locale == "c" || locale == "posix")
    });
    if other { GlyphSet::Ascii } else { GlyphSet::Unicode }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(terminal: bool, variables: &[(&str, &str)]) -> (DisplayKind, ColorMode, GlyphSet) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let look = TerminalCaps::detect(&variable, terminal, None);
        (look.display, look.color, look.glyphs)
    }

    #[test]
    fn the_environment_decides_how_text_looks() {
        use ColorMode::{Off, On};
        use DisplayKind::{GitHub, Live, Plain};
        use GlyphSet::{Ascii, Unicode};
        assert_eq!(look(true, &[]), (Live, On, Unicode));
        assert_eq!(look(false, &[]), (Plain, Off, Unicode));
        assert_eq!(look(true, &[("NO_COLOR", "1")]), (Live, Off, Unicode));
        assert_eq!(look(true, &[("NO_COLOR", "")]), (Live, On, Unicode), "empty is not set");
        assert_eq!(look(true, &[("TERM", "dumb")]), (Plain, Off, Unicode));
        assert_eq!(look(true, &[("CI", "true")]), (Plain, On, Unicode));
        assert_eq!(look(false, &[("CLICOLOR_FORCE", "1")]), (Plain, On, Unicode));
        assert_eq!(look(false, &[("FORCE_COLOR", "1")]), (Plain, On, Unicode));
        let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert_eq!(look(false, &both), (Plain, Off, Unicode), "who refuses colour is heard first");
        assert_eq!(look(false, &[("GITHUB_ACTIONS", "true")]), (GitHub, On, Unicode));
        assert_eq!(look(true, &[("LANG", "C")]), (Live, On, Ascii));
        assert_eq!(look(true, &[("LC_ALL", "de_DE.ISO-8859-1")]), (Live, On, Ascii));
        assert_eq!(look(true, &[("LANG", "C.UTF-8")]), (Live, On, Unicode));
    }
}
