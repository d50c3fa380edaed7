//! Lines that scroll above a pinned block: the bytes to send to the terminal.
//!
//! Uses only what every terminal supports: cursor up, erase below, and no wrapping while the block is drawn. It uses no
//! alternate screen, so the lines stay in the terminal's scrollback.

use std::fmt::Write as _;

use super::screen::ScreenLine;
use super::text_width::columns;

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";
/// Synchronized output: supporting terminals draw everything between as one frame; others ignore it.
const SYNC_ON: &str = "\x1b[?2026h";
const SYNC_OFF: &str = "\x1b[?2026l";

/// The state of the terminal below the last line.
#[derive(Debug, Default)]
pub(crate) struct LiveRegion {
    block: Vec<String>,
}

impl LiveRegion {
    /// The bytes that print these lines above this block. Empty if nothing has changed.
    pub(crate) fn paint(
        &mut self,
        lines: &[ScreenLine],
        block: Vec<String>,
        width: usize,
    ) -> String {
        if lines.is_empty() && block == self.block {
            return String::new();
        }
        let mut out = SYNC_ON.to_owned();
        out.push_str(&self.erase(width));
        for line in lines {
            out.push_str(&line.text);
            out.push('\n');
        }
        if !block.is_empty() {
            let _ = write!(out, "{HIDE_CURSOR}{WRAP_OFF}{}{WRAP_ON}", block.join("\n"));
        }
        self.block = block;
        out.push_str(SYNC_OFF);
        out
    }

    /// The bytes that remove the block and restore the cursor.
    pub(crate) fn erase(&mut self, width: usize) -> String {
        let rows = self.rows(width);
        self.block.clear();
        erase_rows(rows)
    }

    /// Forgets the block, which another program has removed.
    pub(crate) fn forget(&mut self) {
        self.block.clear();
    }

    /// Rows of the block. A terminal that became narrower has wrapped its lines.
    pub(crate) fn rows(&self, width: usize) -> usize {
        self.block.iter().map(|line| columns(line).div_ceil(width.max(1)).max(1)).sum()
    }
}

/// The bytes that erase this many rows, with the cursor on the last one.
pub(super) fn erase_rows(rows: usize) -> String {
    match rows {
        0 => String::new(),
        1 => format!("\r\x1b[J{WRAP_ON}{SHOW_CURSOR}"),
        more => format!("\r\x1b[{}A\x1b[J{WRAP_ON}{SHOW_CURSOR}", more - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::OutputStream;
    use super::*;

    fn line(text: &str) -> ScreenLine {
        ScreenLine { stream: OutputStream::Stderr, text: text.to_owned() }
    }

    #[test]
    fn lines_scroll_above_the_redrawn_block() {
        let mut painter = LiveRegion::default();
        let block = vec!["one".to_owned(), "two".to_owned()];
        let first = painter.paint(&[line("a")], block.clone(), 80);
        assert_eq!(
            first, "\x1b[?2026ha\n\x1b[?25l\x1b[?7lone\ntwo\x1b[?7h\x1b[?2026l",
            "no block, no erase"
        );
        assert_eq!(painter.paint(&[], block, 80), "", "nothing has changed");
        let next = painter.paint(&[line("b")], vec!["three".to_owned()], 80);
        assert!(next.starts_with("\x1b[?2026h\r\x1b[1A\x1b[J\x1b[?7h\x1b[?25hb\n"), "{next:?}");
        assert_eq!(painter.erase(80), "\r\x1b[J\x1b[?7h\x1b[?25h");
        assert_eq!(painter.erase(80), "", "the block is already gone");
    }

    #[test]
    fn narrower_terminal_has_wrapped_the_lines_of_the_block() {
        let mut painter = LiveRegion::default();
        painter.paint(&[], vec!["x".repeat(80), "y".repeat(20)], 80);
        assert_eq!((painter.rows(80), painter.rows(40), painter.rows(30)), (2, 3, 4));
    }
}
