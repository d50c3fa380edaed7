//! The capabilities of the terminal.

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalCaps {
    /// Whether colors are used.
    pub color: ColorMode,
    /// The glyph set.
    pub glyphs: GlyphSet,
    /// Whether a block is pinned below the lines, or another reader takes them.
    pub display: DisplayKind,
    /// The columns of a line; text that must stay whole may be longer.
    pub width: usize,
}

/// Whether colors are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorMode {
    /// Colors are used.
    On,
    /// No colors: text alone has the full meaning.
    Off,
}

/// The glyph set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GlyphSet {
    /// `✓ ✗ │ …`.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// The reader of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisplayKind {
    /// An interactive terminal: a block is pinned below the lines.
    Live,
    /// A file, a pipe, a log: only complete lines.
    Plain,
    /// The log of GitHub Actions, which folds groups and shows annotations.
    GitHub,
}

/// The default width, usual for logs.
const WIDTH_DEFAULT: usize = 100;

impl TerminalCaps {
    /// Lines without colors or terminal, as a pipe gets them.
    pub(crate) const PLAIN: Self = Self {
        color: ColorMode::Off,
        glyphs: GlyphSet::Unicode,
        display: DisplayKind::Plain,
        width: WIDTH_DEFAULT,
    };

    /// Chooses by the environment: `NO_COLOR`, `FORCE_COLOR` and `CLICOLOR_FORCE` as their specifications define
    /// them; a dumb terminal, `CI` and pipes get plain lines.
    ///
    /// `variable` looks up an environment variable; `terminal` states whether the stream is one, `text_width` its
    /// columns.
    pub(crate) fn detect(
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
        // GitHub's log is no terminal but shows colors.
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

/// The locale tells whether the terminal reads UTF-8; without a locale, UTF-8 is assumed.
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

    fn detected(terminal: bool, variables: &[(&str, &str)]) -> (DisplayKind, ColorMode, GlyphSet) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let caps = TerminalCaps::detect(&variable, terminal, None);
        (caps.display, caps.color, caps.glyphs)
    }

    #[test]
    fn environment_determines_how_text_looks() {
        use ColorMode::{Off, On};
        use DisplayKind::{GitHub, Live, Plain};
        use GlyphSet::{Ascii, Unicode};
        assert_eq!(detected(true, &[]), (Live, On, Unicode));
        assert_eq!(detected(false, &[]), (Plain, Off, Unicode));
        assert_eq!(detected(true, &[("NO_COLOR", "1")]), (Live, Off, Unicode));
        assert_eq!(detected(true, &[("NO_COLOR", "")]), (Live, On, Unicode), "empty is not set");
        assert_eq!(detected(true, &[("TERM", "dumb")]), (Plain, Off, Unicode));
        assert_eq!(detected(true, &[("CI", "true")]), (Plain, On, Unicode));
        assert_eq!(detected(false, &[("CLICOLOR_FORCE", "1")]), (Plain, On, Unicode));
        assert_eq!(detected(false, &[("FORCE_COLOR", "1")]), (Plain, On, Unicode));
        let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert_eq!(
            detected(false, &both),
            (Plain, Off, Unicode),
            "refusing colors takes precedence"
        );
        assert_eq!(detected(false, &[("GITHUB_ACTIONS", "true")]), (GitHub, On, Unicode));
        assert_eq!(detected(true, &[("LANG", "C")]), (Live, On, Ascii));
        assert_eq!(detected(true, &[("LC_ALL", "de_DE.ISO-8859-1")]), (Live, On, Ascii));
        assert_eq!(detected(true, &[("LANG", "C.UTF-8")]), (Live, On, Unicode));
    }
}
