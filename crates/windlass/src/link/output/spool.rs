//! Output on the worker's disk until the leader has it: a file per log.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use windlass_core::id::{RunId, StepIx};

use crate::logs::LogId;
use crate::store::{folder, private};

/// A folder of logs.
#[derive(Clone, Debug)]
pub(super) struct Spool {
    folder: PathBuf,
}

impl Spool {
    /// Opens a folder, and says what an earlier life left in it.
    pub(super) fn open(folder: PathBuf) -> io::Result<(Self, Vec<(LogId, u64)>)> {
        folder::make(&folder)?;
        let mut left = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if let Some(log) = entry.file_name().to_str().and_then(log_of) {
                left.push((log, entry.metadata()?.len()));
            }
        }
        left.sort_unstable();
        Ok((Self { folder }, left))
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds to the end of a log, all or nothing, and says how long it is now.
    pub(super) fn append(&self, log: LogId, bytes: &[u8]) -> io::Result<u64> {
        let mut file = private::options().create(true).append(true).open(self.file(log))?;
        let before = file.metadata()?.len();
        if let Err(error) = file.write_all(bytes) {
            // A disk that fills up takes a part; whoever waits for room writes the whole again.
            drop(file.set_len(before));
            return Err(error);
        }
        Ok(before + bytes.len() as u64)
    }

    /// Bytes of a log, fewer where it ends. One that is gone is empty.
    pub(super) fn read(&self, log: LogId, at: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut file = match File::open(self.file(log)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?,
        };
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Drops a log. That it is gone already is no error.
    pub(super) fn remove(&self, log: LogId) {
        drop(fs::remove_file(self.file(log)));
    }

    fn file(&self, log: LogId) -> PathBuf {
        let LogId { run, step, attempt, delivery } = log;
        self.folder.join(format!("{run}.{}.{attempt}.{delivery}.log", step.0))
    }
}

fn log_of(name: &str) -> Option<LogId> {
    let mut parts = name.strip_suffix(".log")?.split('.');
    let run = RunId::parse(parts.next()?)?;
    let step = StepIx(parts.next()?.parse().ok()?);
    let attempt = parts.next()?.parse().ok()?;
    let delivery = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some(LogId { run, step, attempt, delivery })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_full_disk_took_a_part_of_can_be_written_again() {
        let Some(disk) = crate::conformance::Disk::mount("1m") else { return };
        let (spool, _) = Spool::open(disk.path().join("logs")).unwrap();
        let log = LogId { run: RunId(77), step: StepIx(3), attempt: 1, delivery: 1 };
        spool.append(log, b"one ").unwrap();
        assert!(spool.append(log, &vec![b'x'; 2 << 20]).is_err(), "it is larger than the disk");
        assert_eq!(spool.append(log, b"two").unwrap(), 7);
        assert_eq!(spool.read(log, 0, 100).unwrap(), b"one two");
    }

    #[test]
    fn what_an_earlier_life_left_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Spool::open(folder.path().join("logs")).unwrap();
        let log = LogId { run: RunId(77), step: StepIx(3), attempt: 1, delivery: 2 };
        let (spool, left) = open();
        assert!(left.is_empty());
        assert_eq!(spool.append(log, b"one ").unwrap(), 4);
        assert_eq!(spool.append(log, b"two").unwrap(), 7);
        let (spool, left) = open();
        assert_eq!(left, [(log, 7)]);
        assert_eq!(spool.read(log, 4, 100).unwrap(), b"two");
        assert_eq!(spool.read(log, 4, 2).unwrap(), b"tw");
        spool.remove(log);
        assert_eq!(spool.read(log, 0, 100).unwrap(), b"");
        assert!(open().1.is_empty());
    }
}
