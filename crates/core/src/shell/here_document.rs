//! Finds the end of here-documents.

use std::ops::Range;

/// A here-document whose body has not begun yet.
#[derive(Debug)]
pub(super) struct HereDocument {
    /// The delimiter.
    end_word: String,
    /// Whether the delimiter is quoted: the body is not expanded.
    pub(super) literal: bool,
    /// Characters allowed before the delimiter: tabs for `<<-`.
    indent: &'static [char],
}

impl HereDocument {
    /// Parses the delimiter from `text`, which begins after `<<`. Returns the here-document and the length read; `None`
    /// without a delimiter.
    pub(super) fn announced(text: &str) -> Option<(Self, usize)> {
        let strip_tabs = text.starts_with('-');
        let rest = text[usize::from(strip_tabs)..].trim_start_matches([' ', '\t']);
        let begin = text.len() - rest.len();
        let (end_word, literal, length) = unquoted(rest)?;
        let indent: &[char] = if strip_tabs { &['\t'] } else { &[] };
        Some((Self { end_word, literal, indent }, begin + length))
    }

    /// Returns the bytes of the body from `start` without the delimiter line, and the position after that line.
    pub(super) fn body(&self, script: &str, start: usize) -> (Range<usize>, usize) {
        let mut line = start;
        let mut joined = false;
        while line < script.len() {
            let length = script[line..].find('\n').map_or(script.len() - line, |n| n + 1);
            let text = script[line..line + length].trim_end_matches('\n');
            if !joined && self.ends_at(text) {
                return (start..line, line + length);
            }
            // With expansion, a backslash at the end joins the next line.
            let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
            joined = !self.literal && backslashes % 2 == 1;
            line += length;
        }
        (start..script.len(), script.len())
    }

    fn ends_at(&self, line: &str) -> bool {
        line.trim_start_matches(self.indent) == self.end_word
    }
}

/// Returns the first word without its quotes, whether it was quoted, and its length.
fn unquoted(text: &str) -> Option<(String, bool, usize)> {
    let mut word = String::new();
    let mut quoted = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at + c.len_utf8()..];
        match c {
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
            '\'' | '"' => {
                let inner = &rest[..rest.find(c)?];
                word.push_str(inner);
                quoted = true;
                at += inner.len() + 1;
            }
            '\\' => {
                let escaped = rest.chars().next()?;
                word.push(escaped);
                quoted = true;
                at += escaped.len_utf8();
            }
            _ => word.push(c),
        }
        at += c.len_utf8();
    }
    (at > 0).then_some((word, quoted, at))
}
