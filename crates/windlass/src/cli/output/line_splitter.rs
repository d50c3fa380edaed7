//! Sanitizes the output of steps and splits it into lines.
//!
//! Color sequences pass; all other control sequences are removed: a step cannot move the cursor, set a title or hide
//! the output of another. A line that a progress bar overwrites is shown in its last state. Memory is bounded for any
//! input.

use std::mem;

use windlass_core::display_text::is_unsafe_to_display;

use super::terminal_caps::ColorMode;

/// The longest line in bytes; longer ones are cut. Longer than any readable line, and small enough for a full screen
/// of them.
const LINE_MAX: usize = 16 * 1024;
/// Appended to a line that was cut.
const CUT: &str = " [line cut at 16 KiB]";
/// The longest escape sequence, and the most active color codes, in bytes; the longest sensible color has about 40.
const ESCAPE_MAX: usize = 64;
const RESET: &str = "\x1b[0m";
const TAB: usize = 8;

/// Splits the bytes of one log into lines.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    color: ColorMode,
    line: String,
    /// The column, for tabs.
    place: usize,
    /// An incomplete character.
    partial_char: Vec<u8>,
    state: EscapeState,
    /// The start of an escape sequence that may be a color.
    escape: String,
    /// Active colors, which the next line starts with.
    active: String,
    continuation: LineContinuation,
}

/// The position within an escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EscapeState {
    Text,
    /// After an escape character.
    Escape,
    /// In a control sequence, `ESC [` and its parameters.
    Control,
    /// In a string that ends with BEL or `ESC \`: a title, a link.
    ControlString,
    /// After an escape character in such a string.
    ControlStringEscape,
}

/// The effect of further input on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineContinuation {
    Append,
    /// After a carriage return: the next character starts the line again.
    Overwrite,
    /// The line was cut: the rest of it is dropped.
    Drop,
}

impl LineSplitter {
    /// An empty splitter. Without colors, the colors of steps are also removed.
    pub(crate) fn new(color: ColorMode) -> Self {
        Self {
            color,
            line: String::new(),
            place: 0,
            partial_char: Vec::new(),
            state: EscapeState::Text,
            escape: String::new(),
            active: String::new(),
            continuation: LineContinuation::Append,
        }
    }

    /// Takes bytes, and passes on each line that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(String)) {
        let joined;
        let bytes = if self.partial_char.is_empty() {
            bytes
        } else {
            joined = [&mem::take(&mut self.partial_char)[..], bytes].concat();
            &joined
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            chunk.valid().chars().for_each(|c| self.take(c, &mut each));
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            // The last bytes may be a character whose rest comes later.
            if chunks.peek().is_none() && may_continue(invalid) {
                self.partial_char = invalid.to_vec();
            } else {
                self.take(char::REPLACEMENT_CHARACTER, &mut each);
            }
        }
    }

    /// Whether a line is incomplete.
    pub(crate) fn has_partial(&self) -> bool {
        !self.line.is_empty() || !self.partial_char.is_empty()
    }

    /// Ends the incomplete line; its rest becomes a separate line.
    pub(crate) fn flush(&mut self) -> Option<String> {
        if !mem::take(&mut self.partial_char).is_empty() {
            self.put(char::REPLACEMENT_CHARACTER);
        }
        (!self.line.is_empty()).then(|| self.end_line())
    }

    fn take(&mut self, c: char, each: &mut impl FnMut(String)) {
        match self.state {
            EscapeState::Text => self.take_text(c, each),
            EscapeState::Escape => self.take_escape(c),
            EscapeState::Control => self.take_control(c),
            EscapeState::ControlString => match c {
                '\x07' | '\u{9c}' => self.state = EscapeState::Text,
                '\x1b' => self.state = EscapeState::ControlStringEscape,
                // A title has no line end: it was not closed, and the rest is text.
                '\n' => {
                    self.state = EscapeState::Text;
                    each(self.end_line());
                }
                _ => {}
            },
            EscapeState::ControlStringEscape => {
                self.state = if c == '\\' { EscapeState::Text } else { EscapeState::ControlString };
            }
        }
    }

    fn take_text(&mut self, c: char, each: &mut impl FnMut(String)) {
        match c {
            '\n' => each(self.end_line()),
            '\r' if self.continuation == LineContinuation::Append => {
                self.continuation = LineContinuation::Overwrite;
            }
            '\t' => {
                for _ in 0..TAB - self.place % TAB {
                    self.put(' ');
                }
            }
            '\x1b' => self.state = EscapeState::Escape,
            '\u{9b}' => self.begin_control(),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.state = EscapeState::ControlString,
            c if c.is_control() => {}
            // Invisible and reordering characters are escaped.
            c if is_unsafe_to_display(c) => c.escape_default().for_each(|c| self.put(c)),
            c => self.put(c),
        }
    }

    fn take_escape(&mut self, c: char) {
        match c {
            '[' => self.begin_control(),
            ']' | 'P' | 'X' | '^' | '_' => self.state = EscapeState::ControlString,
            // Intermediate characters, as in `ESC ( B`.
            ' '..='/' | '\x1b' => {}
            _ => self.state = EscapeState::Text,
        }
    }

    fn begin_control(&mut self) {
        self.state = EscapeState::Control;
        self.escape.clear();
    }

    fn take_control(&mut self, c: char) {
        match c {
            '\x1b' => self.state = EscapeState::Escape,
            '0'..='9' | ';' | ':' if self.escape.len() < ESCAPE_MAX => self.escape.push(c),
            'm' => {
                self.state = EscapeState::Text;
                self.paint();
            }
            '@'..='~' => self.state = EscapeState::Text,
            // Any other character means that it is no color.
            _ => self.escape.extend(std::iter::repeat_n('?', ESCAPE_MAX)),
        }
    }

    /// Passes on the sequence if it is a color.
    fn paint(&mut self) {
        if self.color == ColorMode::Off
            || self.escape.len() >= ESCAPE_MAX
            || self.continuation == LineContinuation::Drop
        {
            return;
        }
        self.overwrite();
        let code = format!("\x1b[{}m", self.escape);
        let resets = self.escape.split(';').any(|part| matches!(part, "" | "0" | "00"));
        if resets {
            self.active.clear();
        }
        if self.escape.chars().any(|c| !matches!(c, '0' | ';')) {
            // Too many active colors: the oldest are dropped.
            if self.active.len() > ESCAPE_MAX {
                self.active.clear();
            }
            self.active.push_str(&code);
        }
        if self.line.len() + code.len() <= LINE_MAX {
            self.line.push_str(&code);
        }
    }

    fn put(&mut self, c: char) {
        if self.continuation == LineContinuation::Drop {
            return;
        }
        self.overwrite();
        if self.line.is_empty() && !self.active.is_empty() {
            self.line.push_str(&self.active);
        }
        if self.line.len() + c.len_utf8() > LINE_MAX {
            self.continuation = LineContinuation::Drop;
            return;
        }
        self.line.push(c);
        self.place += 1;
    }

    /// Starts the line again after a carriage return.
    fn overwrite(&mut self) {
        if self.continuation == LineContinuation::Overwrite {
            self.line.clear();
            self.place = 0;
            self.continuation = LineContinuation::Append;
        }
    }

    fn end_line(&mut self) -> String {
        let mut line = mem::take(&mut self.line);
        if line.contains('\x1b') && !line.ends_with(RESET) {
            line.push_str(RESET);
        }
        if self.continuation == LineContinuation::Drop {
            line.push_str(CUT);
        }
        self.place = 0;
        self.continuation = LineContinuation::Append;
        line
    }
}

/// Text of a step as sanitized lines without colors.
pub(crate) fn sanitize_lines(text: &str) -> Vec<String> {
    let mut maker = LineSplitter::new(ColorMode::Off);
    let mut lines = Vec::new();
    maker.push(text.as_bytes(), |line| lines.push(line));
    lines.extend(maker.flush());
    lines
}

/// A phrase that may contain user values, as one sanitized line without colors.
pub(crate) fn sanitize_phrase(text: &str) -> String {
    sanitize_lines(text).join(" ")
}

/// Whether an incomplete character may be continued.
fn may_continue(bytes: &[u8]) -> bool {
    let wanted = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return false,
    };
    bytes.len() < wanted && bytes[1..].iter().all(|byte| byte & 0xc0 == 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits the bytes at every position; each split must give the same lines.
    fn lines(bytes: &[u8]) -> Vec<String> {
        let cut_at = |at: usize| {
            let mut lines = LineSplitter::new(ColorMode::On);
            let mut found = Vec::new();
            lines.push(&bytes[..at], |line| found.push(line));
            lines.push(&bytes[at..], |line| found.push(line));
            found.extend(lines.flush());
            found
        };
        let whole = cut_at(0);
        for at in 0..bytes.len().min(200) {
            assert_eq!(cut_at(at), whole, "cut at {at}");
        }
        whole
    }

    #[test]
    fn colors_pass_and_end_with_the_line() {
        assert_eq!(
            lines(b"\x1b[31mred\nstill\x1b[0m not\n"),
            ["\x1b[31mred\x1b[0m", "\x1b[31mstill\x1b[0m not\x1b[0m"]
        );
        assert_eq!(lines(b"\x1b[1;38;5;9mx\x1b[m\n"), ["\x1b[1;38;5;9mx\x1b[m\x1b[0m"]);
        let mut plain = LineSplitter::new(ColorMode::Off);
        plain.push(b"\x1b[31mred\x1b[0m\n", |line| assert_eq!(line, "red"));
    }

    #[test]
    fn other_control_sequences_are_removed() {
        assert_eq!(lines(b"a\x1b[2J\x1b[10;10Hb\x1b]0;title\x07c\n"), ["abc"]);
        assert_eq!(lines(b"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b\n"), ["alinkb"]);
        assert_eq!(lines(b"a\x1b(Bb\x1bMc\x1b[?25ld\x08\x07\x7fe\n"), ["abcde"]);
        assert_eq!(lines("a\u{9b}2Jb\u{9d}t\u{9c}c\n".as_bytes()), ["abc"]);
        assert_eq!(lines(b"\x1b]0;never closed\nnext\n"), ["", "next"]);
        assert_eq!(lines(b"\x1bP1;2|x\x1b\\a\x1b[>4;2mb\n"), ["ab"]);
    }

    #[test]
    fn progress_bar_is_shown_in_its_last_state() {
        assert_eq!(lines(b"10%\r50%\r100%\ndone\r\n"), ["100%", "done"]);
        assert_eq!(lines(b"kept\r"), ["kept"]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        assert_eq!(lines(b"a\xffb\xe2\x82\n\xe2\x82\xac\n"), ["a\u{fffd}b\u{fffd}", "€"]);
        assert_eq!(lines(b"end\xe2\x82"), ["end\u{fffd}"]);
    }

    #[test]
    fn endless_line_is_cut_and_uses_bounded_memory() {
        let mut lines = LineSplitter::new(ColorMode::On);
        let mut found = Vec::new();
        for _ in 0..100 {
            lines.push(&[b'x'; 10_000], |line| found.push(line));
            lines.push(b"\x1b[31m\x1b]", |_| ());
            lines.push(b"\x07", |_| ());
        }
        assert!(lines.line.capacity() + lines.active.capacity() < 64 * 1024);
        lines.push(b"\nnext\n", |line| found.push(line));
        assert_eq!(found.len(), 2);
        assert!(found[0].ends_with(CUT) && found[0].len() <= LINE_MAX + CUT.len() + RESET.len());
    }

    #[test]
    fn phrase_becomes_one_sanitized_line() {
        assert_eq!(sanitize_phrase("\x1b[31ma\x1b]0;t\x07\nb\x1b[2J"), "a b");
    }

    #[test]
    fn tabs_become_blanks() {
        assert_eq!(lines(b"a\tb\n\tc\n"), ["a       b", "        c"]);
    }
}
