//! Checks text for display: names are printed in tables and terminals.

/// Maximum bytes of a name other than of a step: the limit of file names.
pub const NAME_MAX: usize = 255;

/// Maximum characters of a quoted text.
const QUOTED_MAX: usize = 40;

/// Whether a character could move the cursor, be invisible, or reorder the displayed text.
pub fn is_unsafe_to_display(c: char) -> bool {
    let hides = matches!(c, '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    // Tag characters: invisible copies of ASCII, which programs could read but users do not see.
    let tags = matches!(c, '\u{e0000}'..='\u{e007f}');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || hides || tags || turns || breaks
}

/// Whether a text is safe to display on one line: not blank, not too long, without unsafe characters.
pub fn is_displayable(text: &str) -> bool {
    !text.trim().is_empty()
        && (1..=NAME_MAX).contains(&text.len())
        && !text.chars().any(is_unsafe_to_display)
}

/// Quotes a text; truncates a long one.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Whether a text is a valid worker label.
pub fn is_label(text: &str) -> bool {
    is_displayable(text) && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_truncated_in_quotes() {
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
        assert_eq!(quoted(&"鎖".repeat(40)), format!("\"{}\"", "鎖".repeat(40)));
        assert_eq!(quoted(&"鎖".repeat(41)), format!("\"{}\"…", "鎖".repeat(40)));
    }

    #[test]
    fn unsafe_characters_are_not_displayable() {
        for plain in ["build-7", "Büro 2", "鎖", "👩\u{200d}💻", "soft\u{ad}hyphen"] {
            assert!(is_displayable(plain), "{plain}");
        }
        let long = "x".repeat(NAME_MAX + 1);
        let odd = [
            "",
            "   ",
            "a\nb",
            "\u{1b}[2J",
            "\u{9b}2J",
            "a\u{202e}b",
            "a\u{61c}b",
            "a\u{180e}b",
            "a\u{e0041}b",
            "\u{e007f}",
            "a\u{200b}b",
            "\u{feff}",
            &long,
        ];
        for text in odd {
            assert!(!is_displayable(text), "{text:?}");
        }
        assert!(is_label("os=linux") && !is_label("a b") && !is_label("a\u{2003}b"));
    }
}
