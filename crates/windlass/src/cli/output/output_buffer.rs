//! The output of one step, buffered until it is shown or dropped.

use std::collections::VecDeque;

/// Bytes of the start and of the end that are kept: a compiler prints its command first and its errors last.
const HEAD_MAX: usize = 32 * 1024;
const TAIL_MAX: usize = 96 * 1024;

/// The first and the last lines; the middle is dropped if there is too much.
#[derive(Debug, Default)]
pub(super) struct StepOutputBuffer {
    head: Vec<String>,
    head_bytes: usize,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: u64,
}

impl StepOutputBuffer {
    pub(super) fn push(&mut self, line: String) {
        if self.tail.is_empty() && self.head_bytes + line.len() < HEAD_MAX {
            self.head_bytes += line.len() + 1;
            self.head.push(line);
            return;
        }
        self.tail_bytes += line.len() + 1;
        self.tail.push_back(line);
        while self.tail_bytes > TAIL_MAX && self.tail.len() > 1 {
            let gone = self.tail.pop_front().map_or(0, |line| line.len() + 1);
            self.tail_bytes -= gone;
            self.left_out += 1;
        }
    }

    /// The newest line with text.
    pub(super) fn newest(&self) -> Option<&str> {
        let newest = self.tail.iter().rev().chain(self.head.iter().rev()).take(3);
        newest.map(|line| line.trim()).find(|line| !line.is_empty())
    }

    /// All lines, with one that counts the dropped ones.
    pub(super) fn into_lines(self) -> impl Iterator<Item = String> {
        let gap = (self.left_out > 0)
            .then(|| format!("[{} lines omitted; all of them: windlass logs]", self.left_out));
        self.head.into_iter().chain(gap).chain(self.tail)
    }
}
