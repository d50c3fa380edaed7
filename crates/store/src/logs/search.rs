//! Searches logs for lines that contain a text.

use std::time::Duration;

use aho_corasick::AhoCorasick;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use windlass_core::word_set;

use super::interface::{LogId, LogStore, READ_MAX};
use crate::db::StoreError;

/// Maximum bytes of the text to search for.
pub const SEARCH_TEXT_MAX: usize = 256;

/// Maximum lines of a result, regardless of the request.
pub const MATCHES_MAX: usize = 1_000;

/// Maximum bytes that one search reads: the output limit of an attempt. Reading them takes a fraction of a second.
const BYTES_MAX: u64 = 64 << 20;

/// Maximum duration of a search. A slower disk is needed for other work.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum bytes of a line that are searched; longer lines are not for people.
const LINE_MAX: usize = 64 << 10;

/// Bytes of a line that are shown, and the number of them before the text.
const EXCERPT_MAX: usize = 400;
const EXCERPT_BEFORE: usize = 100;

/// A search.
#[derive(Clone, Debug)]
pub struct LogQuery {
    finder: AhoCorasick,
    most: usize,
}

/// A line that contains the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMatch {
    /// The log of the line.
    pub log: LogId,
    /// The line number, from 1.
    pub line: u64,
    /// The offset of the line in bytes.
    pub at: u64,
    /// The line, or the part of a long line around the text.
    pub text: String,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMatches {
    /// The lines, in the order of the logs.
    pub list: Vec<LogMatch>,
    /// The number of bytes searched.
    pub bytes: u64,
    /// The limit that ended the search early, if any.
    pub cut: Option<LogSearchLimit>,
}

/// A limit that ended a search early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogSearchLimit {
    /// The requested number of lines was found.
    Limit,
    /// The maximum number of bytes was read.
    Bytes,
    /// The maximum duration was reached.
    Time,
}

word_set!(LogSearchLimit { Limit => "limit", Bytes => "bytes", Time => "time" });

impl LogQuery {
    /// Creates a search for a literal text with at most this number of lines. Returns an error for a text that no line can
    /// contain.
    pub fn new(text: &str, most: usize) -> Result<Self, String> {
        if text.is_empty() || text.len() > SEARCH_TEXT_MAX || text.contains('\n') {
            return Err(format!(
                "the text to search for must have 1 to {SEARCH_TEXT_MAX} bytes and no line break"
            ));
        }
        let finder = AhoCorasick::new([text]).map_err(|error| error.to_string())?;
        Ok(Self { finder, most: most.clamp(1, MATCHES_MAX) })
    }

    /// Returns the part of a line to show, if the line contains the text.
    fn excerpt(&self, line: &[u8]) -> Option<String> {
        let found = self.finder.find(line)?.start();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let from = if line.len() > EXCERPT_MAX { found.saturating_sub(EXCERPT_BEFORE) } else { 0 };
        let part = &line[from..line.len().min(from + EXCERPT_MAX)];
        Some(String::from_utf8_lossy(part).into_owned())
    }
}

/// Searches logs one after the other.
pub async fn search_logs(
    store: &dyn LogStore,
    logs: &[LogId],
    sought: &LogQuery,
) -> Result<LogMatches, StoreError> {
    let until = Instant::now() + SEARCH_TIMEOUT;
    let mut hits = LogMatches::default();
    for log in logs {
        let mut lines = LogLineSplitter::default();
        let mut from = 0;
        loop {
            if Instant::now() >= until {
                return Ok(LogMatches { cut: Some(LogSearchLimit::Time), ..hits });
            }
            let part = store.read(*log, from..from + READ_MAX as u64).await?;
            if part.bytes.is_empty() {
                break;
            }
            from += part.bytes.len() as u64;
            hits.bytes += part.bytes.len() as u64;
            lines.push_bytes(&part.bytes, |line| hits.push_match(*log, &line, sought));
            if hits.cut.is_some() {
                return Ok(hits);
            }
            if hits.bytes >= BYTES_MAX {
                return Ok(LogMatches { cut: Some(LogSearchLimit::Bytes), ..hits });
            }
        }
        lines.end(|line| hits.push_match(*log, &line, sought));
        if hits.cut.is_some() {
            return Ok(hits);
        }
    }
    Ok(hits)
}

impl LogMatches {
    fn push_match(&mut self, log: LogId, line: &LogLine<'_>, sought: &LogQuery) {
        let Some(text) = sought.excerpt(line.bytes) else { return };
        if self.list.len() >= sought.most {
            self.cut = Some(LogSearchLimit::Limit);
            return;
        }
        self.list.push(LogMatch { log, line: line.number, at: line.at, text });
    }
}

/// A line of a log.
struct LogLine<'a> {
    number: u64,
    at: u64,
    bytes: &'a [u8],
}

/// Splits a stream of pieces into lines.
#[derive(Default)]
struct LogLineSplitter {
    /// The number of complete lines.
    ended: u64,
    /// The offset of the next line.
    at: u64,
    /// The bytes of the incomplete line, up to the searched maximum.
    begun: Vec<u8>,
    /// The number of bytes of the incomplete line.
    begun_len: u64,
}

impl LogLineSplitter {
    fn push_bytes(&mut self, bytes: &[u8], mut each: impl FnMut(LogLine<'_>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_MAX - self.begun.len();
            self.begun_len += piece.len() as u64;
            if self.begun.is_empty() && piece.ends_with(b"\n") {
                self.emit_line(&piece[..piece.len().min(LINE_MAX)], &mut each);
                continue;
            }
            self.begun.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.end(&mut each);
            }
        }
    }

    /// Completes the current line.
    fn end(&mut self, mut each: impl FnMut(LogLine<'_>)) {
        let mut line = std::mem::take(&mut self.begun);
        if self.begun_len > 0 {
            self.emit_line(&line, &mut each);
        }
        line.clear();
        self.begun = line;
    }

    fn emit_line(&mut self, bytes: &[u8], each: &mut impl FnMut(LogLine<'_>)) {
        self.ended += 1;
        each(LogLine { number: self.ended, at: self.at, bytes });
        self.at += self.begun_len;
        self.begun_len = 0;
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{RunId, StepIx};

    use super::*;
    use crate::logs::MemoryLogs;

    fn log(step: u32) -> LogId {
        LogId::new(RunId(7), StepIx(step), 1, 1)
    }

    async fn found(texts: &[&[u8]], sought: &str, most: usize) -> LogMatches {
        let store = MemoryLogs::new();
        let mut logs = Vec::new();
        for (step, text) in (0..).zip(texts) {
            let mut at = 0;
            for piece in text.chunks(READ_MAX / 2) {
                at = store.append(log(step), at, piece.to_vec()).await.expect("it takes it");
            }
            logs.push(log(step));
        }
        search_logs(&store, &logs, &LogQuery::new(sought, most).expect("it fits"))
            .await
            .expect("it reads")
    }

    #[tokio::test]
    async fn match_has_line_number_and_offset() {
        let hits = found(&[b"one\ntwo\r\nthree two", b"two"], "two", 9).await;
        let hit = |step, line, at, text: &str| LogMatch {
            log: log(step),
            line,
            at,
            text: text.to_owned(),
        };
        assert_eq!(
            hits.list,
            [hit(0, 2, 4, "two"), hit(0, 3, 9, "three two"), hit(1, 1, 0, "two")]
        );
        assert_eq!((hits.bytes, hits.cut), (21, None));
        assert!(found(&[b"one"], "Two", 9).await.list.is_empty());
    }

    #[tokio::test]
    async fn line_that_spans_two_reads_is_one_line() {
        let mut text = vec![b'x'; READ_MAX - 6];
        text[9] = b'\n';
        text.extend_from_slice(b"\nneedle here\n");
        let hits = found(&[&text], "needle", 9).await;
        assert_eq!(hits.list.len(), 1);
        let hit = &hits.list[0];
        assert_eq!((hit.line, hit.at, &*hit.text), (3, READ_MAX as u64 - 5, "needle here"));
    }

    #[tokio::test]
    async fn matches_and_excerpts_are_bounded() {
        let hits = found(&[&b"no\nyes\n".repeat(5)], "yes", 3).await;
        assert_eq!((hits.list.len(), hits.cut), (3, Some(LogSearchLimit::Limit)));
        let hits = found(&[&b"yes\n".repeat(3)], "yes", 3).await;
        assert_eq!((hits.list.len(), hits.cut), (3, None), "no limit was reached");
        let mut long = vec![b'.'; 10_000];
        long.extend_from_slice(b"yes");
        long.extend_from_slice(&[b'.'; 10_000]);
        let hits = found(&[&long], "yes", 3).await;
        assert_eq!(hits.list[0].text.len(), EXCERPT_MAX);
        assert!(hits.list[0].text.contains("yes"));
        let mut endless = vec![b'.'; LINE_MAX];
        endless.extend_from_slice(b"yes\nyes\n");
        let hits = found(&[&endless], "yes", 3).await;
        assert_eq!(hits.list.iter().map(|hit| hit.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn text_that_no_line_can_contain_is_refused() {
        assert!(LogQuery::new("", 1).is_err() && LogQuery::new("a\nb", 1).is_err());
        assert!(LogQuery::new(&"x".repeat(SEARCH_TEXT_MAX + 1), 1).is_err());
        assert!(LogQuery::new(&"x".repeat(SEARCH_TEXT_MAX), 1).is_ok());
    }
}
