//! Output on the worker's disk until the leader has it: files per log, each a segment of it.
//!
//! What the leader has is removed segment by segment, so that a step that runs for long takes no more room than what was
//! not shipped. Where a log begins on the disk can therefore be behind its beginning.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::id::{RunId, StepIx};
use windlass_net::files::{durable_folder, private_files};
use windlass_store::logs::LogId;

/// Bytes from which on a segment is followed by another one: what a log keeps on the disk although the leader has it.
const SEGMENT: u64 = 256 << 10;

/// How the name of a segment ends, after where it begins.
const SEGMENT_ENDING: &str = ".log";

/// How the name of an empty file ends that says how many bytes of a log the leader will never have.
const MISSING_ENDING: &str = ".missing";

/// A folder of logs.
#[derive(Clone, Debug)]
pub(super) struct OutputSpool {
    folder: Arc<Path>,
    logs: Arc<Mutex<BTreeMap<LogId, SpoolSegments>>>,
}

/// What an earlier life left: from where to where each log is on the disk.
pub(super) type SpoolLeftovers = Vec<(LogId, Range<u64>)>;

/// The files of a log.
#[derive(Debug, Default)]
struct SpoolSegments {
    /// Where each begins, in order; it ends where the next one begins.
    starts: Vec<u64>,
    end: u64,
    /// Whether an append is under way: the last file is in use.
    is_written: bool,
    /// Bytes that the leader will never have, as an empty file of the log is named that outlasts its segments.
    missing: u64,
}

impl SpoolSegments {
    /// The file that has the byte at this place, and where the file ends.
    fn segment_at(&self, at: u64) -> Option<(u64, u64)> {
        let next = self.starts.partition_point(|start| *start <= at);
        let start = *self.starts.get(next.checked_sub(1)?)?;
        let end = self.starts.get(next).copied().unwrap_or(self.end);
        (at < end).then_some((start, end))
    }

    /// How many of the first files end here or before.
    fn segments_before(&self, upto: u64, what: SpoolFreeScope) -> usize {
        let full = self.starts.iter().skip(1).take_while(|end| **end <= upto).count();
        let is_last_too = match what {
            SpoolFreeScope::FullSegments => false,
            SpoolFreeScope::Everything => !self.is_written && self.end <= upto,
        };
        if is_last_too { self.starts.len() } else { full }
    }
}

/// What is removed of that which the leader has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpoolFreeScope {
    /// Segments that are followed by another one: the last one is written to.
    FullSegments,
    /// The last one as well.
    Everything,
}

impl OutputSpool {
    /// Opens a folder, and says what an earlier life left in it.
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

    /// An earlier life noted how much the leader will never have: it counts while something of the log is left. Of two notes
    /// the larger one is newer.
    fn restore_missing(&self, log: LogId, bytes: u64) {
        let mut logs = self.logs();
        let newer = logs.get_mut(&log).filter(|segments| segments.missing < bytes);
        let older = newer.map_or(bytes, |it| std::mem::replace(&mut it.missing, bytes));
        drop(fs::remove_file(self.missing_file(log, older)));
    }

    /// The segments of a log that follow each other. After a power failure one can be shorter than it was: what follows it is
    /// removed, for it has no place in the log any more.
    fn contiguous_segments(&self, log: LogId, files: BTreeMap<u64, u64>) -> SpoolSegments {
        let mut segments = SpoolSegments::default();
        let starts: Vec<u64> = files.keys().copied().collect();
        for (nth, (start, length)) in files.into_iter().enumerate() {
            if nth > 0 && segments.end < start {
                drop(fs::remove_file(self.file(log, start)));
                continue;
            }
            segments.starts.push(start);
            // The rest of an append that failed is behind the next one's beginning.
            let next = starts.get(nth + 1).copied().unwrap_or(u64::MAX);
            segments.end = (start + length).min(next);
        }
        segments
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds to the end of a log, all or nothing, and says how long it is now.
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

    /// The file that is written next, and how long the log is.
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
            // A disk that fills up takes a part; whoever waits for room writes the whole again.
            drop(file.set_len(at));
            return Err(error);
        }
        Ok(())
    }

    /// Where a log begins on the disk: what was before it is removed.
    pub(super) fn start(&self, log: LogId) -> u64 {
        let logs = self.logs();
        let segments = logs.get(&log);
        segments.map_or(0, |it| it.starts.first().copied().unwrap_or(it.end))
    }

    /// Bytes of a log, fewer where it ends. One that is gone is empty.
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
                // What was read before can be shipped: the next call fails if this lasts.
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

    /// Gives up the segment with the byte at this place: nothing of it is left on the disk from there on. Returns where the
    /// log begins now, or `None` while the segment is written to.
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

    /// Bytes of a log that the leader will never have, as noted here or by an earlier life.
    pub(super) fn missing(&self, log: LogId) -> u64 {
        self.logs().get(&log).map_or(0, |segments| segments.missing)
    }

    /// Notes how much of a log the leader will never have, so that the next life knows it too.
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

    /// Removes what the leader has of a log: all before this place.
    pub(super) fn free(&self, log: LogId, upto: u64, what: SpoolFreeScope) {
        let mut logs = self.logs();
        let Some(segments) = logs.get_mut(&log) else { return };
        let freed = segments.segments_before(upto, what);
        for start in segments.starts.drain(..freed) {
            drop(fs::remove_file(self.file(log, start)));
        }
    }

    /// Puts a text in front of where a log begins on the disk, in the place of what was removed. Returns where it begins now.
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

    /// Drops a log. That it is gone already is no error.
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
        let LogId { run, step, attempt, delivery } = log;
        self.folder.join(format!("{run}.{}.{attempt}.{delivery}.{number}{ending}", step.0))
    }
}

/// The log that a file with this ending is of, and the number in its name.
fn number_in(name: &str, ending: &str) -> Option<(LogId, u64)> {
    let mut parts = name.strip_suffix(ending)?.split('.');
    let run = RunId::parse(parts.next()?)?;
    let step = StepIx(parts.next()?.parse().ok()?);
    let attempt = parts.next()?.parse().ok()?;
    let delivery = parts.next()?.parse().ok()?;
    let number = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some((LogId { run, step, attempt, delivery }, number))
}

#[cfg(test)]
#[path = "spool_tests.rs"]
mod spool_tests;
