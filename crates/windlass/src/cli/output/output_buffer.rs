//! What one step printed, held back until it is known whether somebody wants it.

use std::collections::VecDeque;

/// Bytes of the beginning that are kept, and of the end: a compiler says first what it does and last what went wrong.
const HEAD_MAX: usize = 32 * 1024;
const TAIL_MAX: usize = 96 * 1024;

/// The first and the last lines; the middle is left out when it is too much.
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

    /// The newest line that says something.
    pub(super) fn newest(&self) -> Option<&str> {
        let newest = self.tail.iter().rev().chain(self.head.iter().rev()).take(3);
        newest.map(|line| line.trim()).find(|line| !line.is_empty())
    }

    /// All lines, with one that tells how many are missing.
    pub(super) fn into_lines(self) -> impl Iterator<Item = String> {
        let gap = (self.left_out > 0)
            .then(|| format!("[{} lines left out; all of them: windlass logs]", self.left_out));
        self.head.into_iter().chain(gap).chain(self.tail)
    }
}
