//! The head file: a record of the events that the journal must have at least.
//!
//! After each commit, and before it acknowledges the events, the leader writes the position and the name of the last batch
//! to `head`. The file is synced only with snapshots: after a power failure it may record less than the journal has, never
//! more. So it shows two things when a term is won.
//!
//! *Something is missing* if the journal ends before the recorded position or has another batch there: a deleted or
//! truncated `journal.db`, a damaged `journal.db-wal` (SQLite silently ends its log at the first incomplete frame), a
//! backup of the journal alone. Such a folder can be led only if an operator accepts the loss.
//!
//! *Nothing is missing* if all of the following holds; only then is the history proven ([`StoreHistory::Unbroken`]):
//!
//! | comparison | excluded case |
//! |---|---|
//! | the recorded batch is in the journal | a truncated journal |
//! | device, inode and time of birth of `journal.db` | a folder that was copied or unpacked, elsewhere or in place |
//! | the system's boot id | a restored disk image; a disk that lost confirmed writes |
//! | the time of the last change of the file is the recorded time | a copy over the files in place |
//!
//! The last comparison needs a clock that no process can set: the `ctime` of the file system. The leader touches its lock
//! file, reads that file's `ctime`, and writes it into the record. A later write of the record changes the `ctime` of the
//! head file but not the time in it.
//!
//! The record also has the time since the system started, which no process can set. In the same boot, if the recorded batch
//! is the last one, the difference to now is time that has provably passed since the newest event.
//!
//! A journal that was restored from a backup gets a record that names no files but says so. Its history is lost, whatever else
//! holds, and an operator has accepted that. The first commit of the next leader replaces the record.
//!
//! What is not covered: a copy of a folder that is led beside the original, and a rollback of memory and disk of a
//! virtual machine together.

use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
#[cfg(unix)]
use std::time::UNIX_EPOCH;

use windlass_core::engine::StoreHistory;
use windlass_core::time::{Span, Time};
use windlass_net::files::private_files;

use crate::journal::{BatchId, Position};

const NAME: &str = "head";

/// The file with the id of the boot. Without it, boots are not distinguished.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The identity of the store in the record of a restored journal.
const RESTORED: &str = "restored";

/// The size of the file. A record never grows beyond it, so a rewrite is one write of one block.
const SIZE: usize = 512;

/// The first line.
const TITLE: &str = "windlass head 1";

/// Maximum time between reading the time and writing the record, except on a machine that was suspended in between.
const WRITTEN_WITHIN_NS: i128 = 250_000_000;

/// The recorded end of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadRecord {
    pub(super) position: Position,
    pub(super) batch: BatchId,
    /// The time of the record by the clock of the file system, in nanoseconds since 1970.
    pub(super) written: i128,
    /// Device and inode of the journal, and the boot id.
    store: String,
    /// The time since the system started when it was written; zero without such a clock.
    since_start: Time,
    /// The time of the last change of the file.
    changed: i128,
}

impl HeadRecord {
    /// Reads the head file; `None` if it is missing or incomplete.
    pub(super) fn read(folder: &Path) -> io::Result<Option<Self>> {
        let path = folder.join(NAME);
        let read = || io::Result::Ok((fs::read(&path)?, fs::metadata(&path)?));
        match read() {
            Ok((bytes, metadata)) => Ok(Self::parse(&bytes, &metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: &[u8], metadata: &Metadata) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?.trim_end();
        let (body, check) = text.rsplit_once("\ncheck ")?;
        if check != checksum(body) {
            return None;
        }
        let mut lines = body.lines();
        lines.next().filter(|title| *title == TITLE)?;
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        Some(Self {
            position: Position(field("position")?.parse().ok()?),
            batch: BatchId(field("batch")?.parse().ok()?),
            written: field("written")?.parse().ok()?,
            store: field("store")?.to_owned(),
            since_start: Time::from_millis(field("up")?.parse().ok()?),
            changed: changed(metadata),
        })
    }

    /// Compares the record with a journal that has the batch `found` at the recorded position and ends at `head`.
    pub(super) fn compare_with(
        &self,
        folder: &Path,
        found: Option<BatchId>,
        head: Position,
    ) -> StoreHistory {
        match found {
            Some(_) if self.is_restored(found) => StoreHistory::Lost,
            Some(batch) if batch == self.batch => {
                if self.is_in_place(folder) {
                    StoreHistory::Unbroken
                } else {
                    StoreHistory::Unproven
                }
            }
            // The batch was pruned, so the record is old.
            None if self.position <= head => StoreHistory::Unproven,
            Some(_) | None => StoreHistory::Lost,
        }
    }

    /// Whether the journal was restored from a backup, and ends where the backup did or later.
    pub(super) fn is_restored(&self, found: Option<BatchId>) -> bool {
        self.store == RESTORED && found == Some(self.batch)
    }

    /// Returns the age of the record, if its batch is the last one of a journal that it proves to be unbroken.
    pub(super) fn age(&self, history: StoreHistory, head: Position) -> Span {
        let last = history == StoreHistory::Unbroken && self.position == head;
        if last { since_start().since(self.since_start) } else { Span::ZERO }
    }

    /// Whether it was written beside these files, in this boot, and is not a copy.
    fn is_in_place(&self, folder: &Path) -> bool {
        store_identity(folder).is_ok_and(|store| store == self.store)
            && (0..=WRITTEN_WITHIN_NS).contains(&(self.changed - self.written))
    }
}

/// The head file of a leader.
#[derive(Debug)]
pub(super) struct HeadFile {
    file: File,
    store: String,
    text: String,
}

impl HeadFile {
    /// Opens the head file of an existing journal. Its content stays until the next commit.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let mut options = private_files::open_options();
        let file = options.create(true).truncate(false).write(true).open(folder.join(NAME))?;
        Ok(Self { file, store: store_identity(folder)?, text: String::with_capacity(SIZE) })
    }

    /// Records a head and the time by the clock of the file system.
    pub(super) fn write(
        &mut self,
        position: Position,
        batch: BatchId,
        written: i128,
    ) -> io::Result<()> {
        let Self { file, store, text } = self;
        write_record(file, text, (position, batch), (written, store))
    }

    /// Records that the journal was restored and ends with this batch.
    pub(super) fn write_restored(&mut self, position: Position, batch: BatchId) -> io::Result<()> {
        write_record(&self.file, &mut self.text, (position, batch), (0, RESTORED))?;
        self.file.sync_all()
    }
}

/// Writes a record over the one before. `text` is only a buffer.
fn write_record(
    file: &File,
    text: &mut String,
    (position, batch): (Position, BatchId),
    (written, store): (i128, &str),
) -> io::Result<()> {
    text.clear();
    let fields = format_args!(
        "{TITLE}\nposition {position}\nbatch {}\nwritten {written}\nstore {store}\nup {}",
        batch.0,
        since_start().as_millis()
    );
    text.write_fmt(fields).map_err(io::Error::other)?;
    let check = checksum(text);
    write!(text, "\ncheck {check}\n").map_err(io::Error::other)?;
    let padding = SIZE.saturating_sub(text.len());
    text.extend(std::iter::repeat_n('\n', padding));
    write_at_start(file, text.as_bytes())
}

/// Makes the head file durable.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    match File::open(folder.join(NAME)) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the identity of the files of a journal in this boot, which a copy does not have.
fn store_identity(folder: &Path) -> io::Result<String> {
    let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
    let journal = file_identity(&fs::metadata(folder.join(super::store::FILE))?);
    Ok(format!("{journal} boot {}", boot.trim()))
}

/// Returns the time since the system started, by a clock that no process can set.
#[cfg(unix)]
fn since_start() -> Time {
    windlass_net::clock::time_since_boot()
}

#[cfg(not(unix))]
const fn since_start() -> Time {
    Time::ZERO
}

fn checksum(body: &str) -> String {
    blake3::hash(body.as_bytes()).to_hex()[..16].to_owned()
}

/// Identifies a file. The file system may reuse the inode of a removed file, but the new file has a later time of birth, if
/// the file system records it.
#[cfg(unix)]
fn file_identity(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let born = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let born = born.map_or(0, |age| age.as_nanos());
    format!("device {} inode {} born {born}", metadata.dev(), metadata.ino())
}

/// Without inodes every history is unproven, so each call returns another identity.
#[cfg(not(unix))]
fn file_identity(_metadata: &Metadata) -> String {
    format!("process {}", std::process::id())
}

/// Returns the time of the last change of a file by the clock of its file system, in nanoseconds since 1970.
#[cfg(unix)]
pub(super) fn changed(metadata: &Metadata) -> i128 {
    use std::os::unix::fs::MetadataExt as _;
    i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec())
}

#[cfg(not(unix))]
pub(super) fn changed(_metadata: &Metadata) -> i128 {
    0
}

#[cfg(unix)]
pub(super) fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    file.write_all_at(bytes, 0)
}

#[cfg(not(unix))]
pub(super) fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek as _, Write as _};
    file.rewind()?;
    file.write_all(bytes)
}
