//! The spool: output on the worker's disk until the leader has it. Each log is a series of segment files.
//!
//! What the leader has is removed segment by segment, so that a long step needs no more space than its unshipped output.
//! The first segment on the disk can therefore begin after offset 0.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::id::{RunId, StepIx};
use windlass_net::files::{durable_folder, private_files};
use windlass_store::logs::{LogId, LogStream};

/// Size at which a segment is complete and the next one begins: what a log keeps on the disk although the leader has it.
const SEGMENT: u64 = 256 << 10;

/// The extension of a segment's name, after its offset.
const SEGMENT_ENDING: &str = ".log";

/// The extension of an empty file whose name states how many bytes of a log the leader will never have.
const MISSING_ENDING: &str = ".missing";

/// A folder of logs.
#[derive(Clone, Debug)]
pub(super) struct OutputSpool {
    folder: Arc<Path>,
    logs: Arc<Mutex<BTreeMap<LogId, SpoolSegments>>>,
}

/// What an earlier incarnation left: the range of each log on the disk.
pub(super) type SpoolLeftovers = Vec<(LogId, Range<u64>)>;

/// The files of a log.
#[derive(Debug, Default)]
struct SpoolSegments {
    /// The offset of each segment, in order; a segment ends where the next one begins.
    starts: Vec<u64>,
    end: u64,
    /// Whether an append is in progress: the last file is in use.
    is_written: bool,
    /// Bytes that the leader will never have, stated by the name of an empty file that outlives the segments.
    missing: u64,
}

impl SpoolSegments {
    /// Returns the file that contains this offset, and the end of the file.
    fn segment_at(&self, at: u64) -> Option<(u64, u64)> {
        let next = self.starts.partition_point(|start| *start <= at);
        let start = *self.starts.get(next.checked_sub(1)?)?;
        let end = self.starts.get(next).copied().unwrap_or(self.end);
        (at < end).then_some((start, end))
    }

    /// Returns the number of leading files that end at or before this offset.
    fn segments_before(&self, upto: u64, what: SpoolFreeScope) -> usize {
        let full = self.starts.iter().skip(1).take_while(|end| **end <= upto).count();
        let is_last_too = match what {
            SpoolFreeScope::FullSegments => false,
            SpoolFreeScope::Everything => !self.is_written && self.end <= upto,
        };
        if is_last_too { self.starts.len() } else { full }
    }
}

/// How much of what the leader has is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpoolFreeScope {
    /// Complete segments: the last one is still written.
    FullSegments,
    /// The last one too.
    Everything,
}

impl OutputSpool {
    /// Opens a folder, and returns what an earlier incarnation left in it.
    pub(super) fn open(folder: PathBuf) -> io::Result<(Self, SpoolLeftovers)> {
        durable_folder::create_durably(&folder)?;
        let mut found: BTreeMap<LogId, BTreeMap<u64, u64>> = BTreeMap::new();
        let mut missing = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            if let Some((log, start)) = number_in(name, SEGMENT_ENDING) {
                found.entry(log).or_default().insert(start, entry.metadata()?.len());
            }
            missing.extend(number_in(name, MISSING_ENDING));
        }
        let spool = Self { folder: folder.into(), logs: Arc::default() };
        let mut left = Vec::new();
        for (log, files) in found {
            let segments = spool.contiguous_segments(log, files);
            left.extend(segments.starts.first().map(|start| (log, *start..segments.end)));
            spool.logs().insert(log, segments);
        }
        for (log, bytes) in missing {
            spool.restore_missing(log, bytes);
        }
        Ok((spool, left))
    }

    /// Reads how much the leader will never have, as an earlier incarnation recorded it: it counts while some of the log is left.
    /// Of two records the larger one is newer.
    fn restore_missing(&self, log: LogId, bytes: u64) {
        let mut logs = self.logs();
        let newer = logs.get_mut(&log).filter(|segments| segments.missing < bytes);
        let older = newer.map_or(bytes, |it| std::mem::replace(&mut it.missing, bytes));
        drop(fs::remove_file(self.missing_file(log, older)));
    }

    /// Returns the contiguous segments of a log. After a power failure a segment can be shorter than it was; the segments after
    /// it are removed, because their offsets no longer fit.
    fn contiguous_segments(&self, log: LogId, files: BTreeMap<u64, u64>) -> SpoolSegments {
        let mut segments = SpoolSegments::default();
        let starts: Vec<u64> = files.keys().copied().collect();
        for (nth, (start, length)) in files.into_iter().enumerate() {
            if nth > 0 && segments.end < start {
                drop(fs::remove_file(self.file(log, start)));
                continue;
            }
            segments.starts.push(start);
            // The rest of a failed append is beyond the start of the next one.
            let next = starts.get(nth + 1).copied().unwrap_or(u64::MAX);
            segments.end = (start + length).min(next);
        }
        segments
    }

    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends to a log, all or nothing, and returns its new length.
    pub(super) fn append(&self, log: LogId, bytes: &[u8]) -> io::Result<u64> {
        let (start, end) = self.begin(log);
        let written = self.write_at((log, start), end - start, bytes);
        let mut logs = self.logs();
        let segments = logs.entry(log).or_default();
        segments.is_written = false;
        match written {
            Ok(()) => segments.end = end + bytes.len() as u64,
            Err(_) if start == end => {
                segments.starts.pop_if(|last| *last == start);
                drop(fs::remove_file(self.file(log, start)));
            }
            Err(_) => {}
        }
        written.map(|()| segments.end)
    }

    /// Returns the file to append to, and the length of the log.
    fn begin(&self, log: LogId) -> (u64, u64) {
        let mut logs = self.logs();
        let segments = logs.entry(log).or_default();
        let end = segments.end;
        if segments.starts.last().is_none_or(|start| end - start >= SEGMENT) {
            segments.starts.push(end);
        }
        segments.is_written = true;
        (segments.starts.last().copied().unwrap_or(end), end)
    }

    fn write_at(&self, (log, start): (LogId, u64), at: u64, bytes: &[u8]) -> io::Result<()> {
        let options =
            private_files::open_options().create(true).write(true).truncate(false).clone();
        let mut file = options.open(self.file(log, start))?;
        file.seek(SeekFrom::Start(at))?;
        if let Err(error) = file.write_all(bytes) {
            // A disk that fills up accepts a part; a step that waits for space writes all of it again.
            drop(file.set_len(at));
            return Err(error);
        }
        Ok(())
    }

    /// Returns the offset at which a log begins on the disk: everything before it was removed.
    pub(super) fn start(&self, log: LogId) -> u64 {
        let logs = self.logs();
        let segments = logs.get(&log);
        segments.map_or(0, |it| it.starts.first().copied().unwrap_or(it.end))
    }

    /// Reads bytes of a log, fewer at its end. A removed log is empty.
    pub(super) fn read(&self, log: LogId, at: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            let from = at + bytes.len() as u64;
            let Some((start, end)) = self.logs().get(&log).and_then(|it| it.segment_at(from))
            else {
                break;
            };
            let room = (most - bytes.len()) as u64;
            let before = bytes.len();
            match self.read_segment((log, start), from..end.min(from + room), &mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                // What was read before can be shipped: if the error persists, the next call fails.
                Err(_) if before > 0 => {
                    bytes.truncate(before);
                    break;
                }
                read => read?,
            }
            if bytes.len() == before {
                break;
            }
        }
        Ok(bytes)
    }

    fn read_segment(
        &self,
        (log, start): (LogId, u64),
        range: Range<u64>,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut file = File::open(self.file(log, start))?;
        file.seek(SeekFrom::Start(range.start - start))?;
        file.take(range.end - range.start).read_to_end(bytes)?;
        Ok(())
    }

    /// Gives up the segment that contains this offset: nothing of it is left on the disk from there on. Returns the new start of
    /// the log, or `None` while the segment is in use.
    pub(super) fn drop_missing_segment(&self, log: LogId, at: u64) -> Option<u64> {
        let mut logs = self.logs();
        let segments = logs.entry(log).or_default();
        let gone = segments.starts.partition_point(|start| *start <= at);
        if segments.is_written && gone == segments.starts.len() {
            return None;
        }
        for start in segments.starts.drain(..gone) {
            drop(fs::remove_file(self.file(log, start)));
        }
        Some(segments.starts.first().copied().unwrap_or(segments.end))
    }

    /// Returns the bytes of a log that the leader will never have, as this or an earlier incarnation recorded.
    pub(super) fn missing(&self, log: LogId) -> u64 {
        self.logs().get(&log).map_or(0, |segments| segments.missing)
    }

    /// Records how much of a log the leader will never have, so that the next incarnation knows it too.
    pub(super) fn note_missing(&self, log: LogId, bytes: u64) -> io::Result<()> {
        private_files::write(&self.missing_file(log, bytes), "")?;
        let mut logs = self.logs();
        let segments = logs.entry(log).or_default();
        let before = std::mem::replace(&mut segments.missing, bytes);
        if before > 0 && before != bytes {
            drop(fs::remove_file(self.missing_file(log, before)));
        }
        Ok(())
    }

    /// Removes what the leader has of a log: everything before this offset.
    pub(super) fn free(&self, log: LogId, upto: u64, what: SpoolFreeScope) {
        let mut logs = self.logs();
        let Some(segments) = logs.get_mut(&log) else { return };
        let freed = segments.segments_before(upto, what);
        for start in segments.starts.drain(..freed) {
            drop(fs::remove_file(self.file(log, start)));
        }
    }

    /// Inserts a text where a log begins on the disk, in place of removed bytes. Returns the new start.
    pub(super) fn prepend(&self, log: LogId, text: &[u8]) -> io::Result<u64> {
        let old = self.start(log);
        let start = old.saturating_sub(text.len() as u64);
        let length = usize::try_from(old - start).unwrap_or(usize::MAX);
        self.write_at((log, start), 0, &text[..length.min(text.len())])?;
        let mut logs = self.logs();
        let segments = logs.entry(log).or_default();
        if segments.starts.first() != Some(&start) {
            segments.starts.insert(0, start);
        }
        Ok(start)
    }

    /// Removes a log. It is no error if the log is gone already.
    pub(super) fn remove(&self, log: LogId) {
        let segments = self.logs().remove(&log).unwrap_or_default();
        for start in segments.starts {
            drop(fs::remove_file(self.file(log, start)));
        }
        if segments.missing > 0 {
            drop(fs::remove_file(self.missing_file(log, segments.missing)));
        }
    }

    fn logs(&self) -> MutexGuard<'_, BTreeMap<LogId, SpoolSegments>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, log: LogId, start: u64) -> PathBuf {
        self.named(log, start, SEGMENT_ENDING)
    }

    fn missing_file(&self, log: LogId, bytes: u64) -> PathBuf {
        self.named(log, bytes, MISSING_ENDING)
    }

    fn named(&self, log: LogId, number: u64, ending: &str) -> PathBuf {
        let LogId { run, step, attempt, delivery, stream } = log;
        let delivery = format!("{run}.{}.{attempt}.{delivery}", step.0);
        self.folder.join(format!("{delivery}.{}.{number}{ending}", stream.name()))
    }
}

/// Returns the log to which a file with this extension belongs, and the number in its name.
fn number_in(name: &str, ending: &str) -> Option<(LogId, u64)> {
    let mut parts = name.strip_suffix(ending)?.split('.');
    let run = RunId::parse(parts.next()?)?;
    let step = StepIx(parts.next()?.parse().ok()?);
    let attempt = parts.next()?.parse().ok()?;
    let delivery = parts.next()?.parse().ok()?;
    let stream = LogStream::parse(parts.next()?)?;
    let number = parts.next()?.parse().ok()?;
    parts
        .next()
        .is_none()
        .then_some((LogId::new(run, step, attempt, delivery).stream(stream), number))
}

#[cfg(test)]
#[path = "spool_tests.rs"]
mod spool_tests;
