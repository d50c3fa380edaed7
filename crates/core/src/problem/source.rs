//! A file's text, with its lines.

use std::ops::Range;

use super::code::ProblemCode;
use super::problem_type::Problem;

/// Maximum size of a file in bytes: a thousand times the longest written by hand, small enough to keep twice in memory.
pub const SOURCE_MAX: usize = 8 * 1024 * 1024;

/// A line and column, both counted from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// The line number.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

/// A file's name and text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    /// The byte offset at which each line begins.
    starts: Vec<usize>,
}

/// A file that cannot be read as text: its valid part, and the problem.
#[derive(Clone, Debug)]
pub struct RejectedSource {
    /// The valid part before the problem.
    pub source: SourceFile,
    /// The problem.
    pub problem: Box<Problem>,
}

impl SourceFile {
    /// Creates a file from its name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { name: name.into(), text, starts }
    }

    /// Creates a file from bytes, if they are UTF-8 within the size limit.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, RejectedSource> {
        let reject = |text: &str, problem: Problem| {
            Err(RejectedSource { source: Self::new(name, text), problem: Box::new(problem) })
        };
        if bytes.len() > SOURCE_MAX {
            return reject("", too_large(bytes.len()));
        }
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
        };
        let nul = valid.find('\0');
        if valid.len() < bytes.len() || nul.is_some() {
            let before = &valid[..nul.unwrap_or(valid.len())];
            return reject(before, not_text(bytes, before.len()));
        }
        Ok(Self::new(name, valid))
    }

    /// The file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line and column of a byte.
    pub fn line_column(&self, byte: usize) -> LineColumn {
        let line = self.line_index(byte);
        let before = &self.text[self.starts[line]..self.text.floor_char_boundary(byte)];
        let mark = usize::from(line == 0 && before.starts_with('\u{feff}'));
        LineColumn { line: line + 1, column: before.chars().count() + 1 - mark }
    }

    /// Returns the line around a byte, without its line break and a byte order mark.
    pub fn line_around(&self, byte: usize) -> Range<usize> {
        let line = self.line_index(byte);
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let text = &self.text[self.starts[line]..end];
        let mark = text.len() - text.trim_start_matches('\u{feff}').len();
        self.starts[line] + mark..self.starts[line] + text.trim_end_matches('\r').len()
    }

    fn line_index(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }
}

fn too_large(size: usize) -> Problem {
    Problem::new(
        ProblemCode::TooLarge,
        0..0,
        format!("the file has {size} bytes; at most {SOURCE_MAX} are allowed"),
    )
    .help("check that the path names a pipeline file")
}

fn not_text(bytes: &[u8], at: usize) -> Problem {
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let help = if wide {
        "the file looks like UTF-16: save it as UTF-8"
    } else {
        "a pipeline is YAML in UTF-8: check that the path names the right file"
    };
    let byte = bytes.get(at).copied().unwrap_or_default();
    Problem::new(ProblemCode::NotText, at..at, "the file is not text")
        .label(format!("byte {at} is 0x{byte:02x}"))
        .help(help)
}
