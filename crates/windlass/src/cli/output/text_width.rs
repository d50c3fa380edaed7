//! The width of text in columns, and fitting text to a width.
//!
//! Text may contain colors: their escape sequences have no width and are never split.

use unicode_width::UnicodeWidthChar as _;

use super::terminal_caps::{DisplayKind, TerminalCaps};

const RESET: &str = "\x1b[0m";

/// The columns of a text on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    pieces(text).map(|(_, width)| width).sum()
}

/// The text in at most this many columns, with an ellipsis where it was cut.
pub(crate) fn fit(caps: &TerminalCaps, text: &str, max: usize) -> String {
    if columns(text) <= max {
        return text.to_owned();
    }
    let sign = caps.ellipsis();
    let room = max.saturating_sub(columns(sign));
    let (mut cut, mut taken) = (String::new(), 0);
    for (piece, width) in pieces(text) {
        taken += width;
        if taken > room {
            break;
        }
        cut.push_str(piece);
    }
    if cut.contains('\x1b') {
        cut.push_str(RESET);
    }
    if max >= columns(sign) {
        cut.push_str(sign);
    }
    cut
}

/// Wraps the text for a terminal, indenting all lines but the first. Words stay whole. Log lines are not wrapped, so
/// that they can be searched.
pub(crate) fn flow(caps: &TerminalCaps, text: &str, indent: usize) -> String {
    if caps.display != DisplayKind::Live || columns(text) <= caps.width {
        return text.to_owned();
    }
    let (mut lines, mut line, mut used) = (String::new(), String::new(), 0);
    for word in text.split_inclusive(' ') {
        if used > indent && used + columns(word.trim_end()) > caps.width {
            lines.push_str(line.trim_end());
            lines.push('\n');
            (line, used) = (" ".repeat(indent), indent);
        }
        let leads = !lines.is_empty() && used == indent;
        if !(leads && word == " ") {
            line.push_str(word);
            used += columns(word);
        }
    }
    lines + &line
}

/// Pads the text on the right to at least this many columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Pads the text on the left to at least this many columns.
pub(super) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Characters and color sequences, each with its width.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (length, width) = match colour_length(rest) {
            Some(length) => (length, 0),
            None => (first.len_utf8(), first.width().unwrap_or(0)),
        };
        let (piece, behind) = rest.split_at(length);
        rest = behind;
        Some((piece, width))
    })
}

/// The length of the color sequence at the start of the text.
fn colour_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\x1b[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    inner[end..].starts_with('m').then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_have_no_width_and_wide_characters_have_two_columns() {
        assert_eq!(columns("\x1b[31mred\x1b[0m"), 3);
        assert_eq!(columns("測試"), 4);
        assert_eq!(fit(&TerminalCaps::PLAIN, "測試測試", 5), "測試…");
        assert_eq!(fit(&TerminalCaps::PLAIN, "\x1b[31mabcdef\x1b[0m", 4), "\x1b[31mabc\x1b[0m…");
        assert_eq!(fit(&TerminalCaps::PLAIN, "abc", 3), "abc");
        assert_eq!(fit(&TerminalCaps::PLAIN, "abc", 0), "");
        assert_eq!(pad("測", 4), "測  ");
    }

    #[test]
    fn terminal_wraps_at_words_and_log_lines_stay_unbroken() {
        let narrow = TerminalCaps { display: DisplayKind::Live, width: 12, ..TerminalCaps::PLAIN };
        let text = "one two three  \x1b[31mfour\x1b[0m five";
        assert_eq!(flow(&narrow, text, 2), "one two\n  three\n  \x1b[31mfour\x1b[0m five");
        assert_eq!(
            flow(&narrow, "    a-word-that-is-too-long b", 4),
            "    a-word-that-is-too-long\n    b"
        );
        assert_eq!(flow(&narrow, "fits", 2), "fits");
        let log = TerminalCaps { display: DisplayKind::Plain, ..narrow };
        assert_eq!(flow(&log, text, 2), text);
    }
}
