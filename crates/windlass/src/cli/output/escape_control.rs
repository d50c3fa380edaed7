//! Escapes untrusted text: names, lines of files and messages cannot control the terminal.

use std::borrow::Cow;

use windlass_core::display_text::is_unsafe_to_display;

/// Escapes everything that controls a terminal or misleads the reader. Line ends, tabs and colors remain.
pub(super) fn escape_control_chars(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| is_unsafe_to_display(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour(rest).unwrap_or(c.len_utf8());
        let (taken, left) = rest.split_at(length);
        if matches!(c, '\n' | '\t') || length > c.len_utf8() || !is_unsafe_to_display(c) {
            shown.push_str(taken);
        } else {
            shown.extend(c.escape_default());
        }
        rest = left;
    }
    Cow::Owned(shown)
}

/// The bytes of a color sequence at the start of a text: `ESC [`, numbers, `m`.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\x1b[")?;
    let end = numbers.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    numbers[end..].starts_with('m').then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_lines_remain_and_control_sequences_are_escaped() {
        for same in ["", "a\n\tb", "\x1b[1;31mred\x1b[0m", "Büro 鎖 👩\u{200d}💻"] {
            assert_eq!(escape_control_chars(same), same);
        }
        let obeyed = [
            ("\x1b]0;title\x07x", "\\u{1b}]0;title\\u{7}x"),
            ("\x1bPq\x1b\\", "\\u{1b}Pq\\u{1b}\\"),
            ("\x1b[2Jx\x1b[31m", "\\u{1b}[2Jx\x1b[31m"),
            ("\u{9b}31m\u{9d}52;c;x\u{9c}", "\\u{9b}31m\\u{9d}52;c;x\\u{9c}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("over\rwritten\x1b[", "over\\rwritten\\u{1b}["),
        ];
        for (text, shown) in obeyed {
            assert_eq!(escape_control_chars(text), shown);
        }
    }
}
