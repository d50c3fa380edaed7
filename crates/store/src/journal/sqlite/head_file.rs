//! The head file: what the journal must have at least, written down beside it.
//!
//! After each commit, and before anything of it is acknowledged, the leader writes to `head` how far the journal
//! reaches: the position and the name of the last batch. It is not synced, except with snapshots: after a power cut it may
//! say less than the journal has, never more. So it shows two things when a term is won.
//!
//! *Something is missing* if the journal ends before the recorded position or has another batch there: a deleted or
//! truncated `journal.db`, a damaged `journal.db-wal` (SQLite ends its log at the first frame that is not whole, and
//! says nothing), a backup of the journal alone. Such a folder is led only by an operator who accepts the loss.
//!
//! *Nothing is missing* if all of this holds; only then is the history proven ([`StoreHistory::Unbroken`]):
//!
//! | what is compared | what it excludes |
//! |---|---|
//! | the recorded batch is in the journal | a journal that was cut |
//! | device, inode and time of birth of `journal.db` | a folder that was copied or unpacked, elsewhere or in its own place |
//! | the system's boot id | a disk image that was put back; a disk that lost what it had confirmed |
//! | the file was last changed when its content says that it was written | a copy over the files in place |
//!
//! The last one needs the clock of the file system, which no process can set: `ctime`. The leader touches its lock file,
//! reads that file's `ctime`, and writes it into the record. Whatever else writes the record later, with whatever
//! content, changes the `ctime` of the head file and not the time in it.
//!
//! It also has the time since the system started. In the same boot, and if the recorded batch is the last, the difference to
//! now is time that has provably passed since the newest event: no process can set that clock.
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

/// Where the system names its boot. Where it does not, boots are not told apart.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The whole file: a record never grows over it, so that writing it anew is one write of one block.
const SIZE: usize = 512;

/// The first line.
const TITLE: &str = "windlass head 1";

/// A write is no later than that after the time was read, except on a machine that stands still in between.
const WRITTEN_WITHIN_NS: i128 = 250_000_000;

/// How far a journal reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadRecord {
    pub(super) position: Position,
    pub(super) batch: BatchId,
    /// By the clock of the file system, in nanoseconds since 1970.
    pub(super) written: i128,
    /// Device and inode of the journal, and the system's boot.
    store: String,
    /// When it was written, by the time since the system started; zero where no such clock is.
    since_start: Time,
    /// When the file was last changed.
    changed: i128,
}

impl HeadRecord {
    /// What the head file says; nothing if there is none, or if it is not whole.
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

    /// What this record says about a journal that has `found` at the recorded position and ends at `head`.
    pub(super) fn compare_with(
        &self,
        folder: &Path,
        found: Option<BatchId>,
        head: Position,
    ) -> StoreHistory {
        match found {
            Some(batch) if batch == self.batch => {
                if self.is_in_place(folder) {
                    StoreHistory::Unbroken
                } else {
                    StoreHistory::Unproven
                }
            }
            // It has left with what is in snapshots: the record is an old one.
            None if self.position <= head => StoreHistory::Unproven,
            Some(_) | None => StoreHistory::Lost,
        }
    }

    /// How long ago it was written, if its batch is the last one of a journal that it proves to be unbroken.
    pub(super) fn age(&self, history: StoreHistory, head: Position) -> Span {
        let last = history == StoreHistory::Unbroken && self.position == head;
        if last { since_start().since(self.since_start) } else { Span::ZERO }
    }

    /// Whether the files are those that it was written beside, since the same boot, and it was not written by a copy.
    fn is_in_place(&self, folder: &Path) -> bool {
        store_identity(folder).is_ok_and(|store| store == self.store)
            && (0..=WRITTEN_WITHIN_NS).contains(&(self.changed - self.written))
    }
}

/// Keeps the head file while its process leads.
#[derive(Debug)]
pub(super) struct HeadFile {
    file: File,
    store: String,
    text: String,
}

impl HeadFile {
    /// Opens the head file of a journal that is there. It keeps what it says until the next commit.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let mut options = private_files::open_options();
        let file = options.create(true).truncate(false).write(true).open(folder.join(NAME))?;
        Ok(Self { file, store: store_identity(folder)?, text: String::with_capacity(SIZE) })
    }

    /// Records a head, at a time of the clock of the file system.
    pub(super) fn write(
        &mut self,
        position: Position,
        batch: BatchId,
        written: i128,
    ) -> io::Result<()> {
        let Self { file, store, text } = self;
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
}

/// Makes what the head file says durable.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    match File::open(folder.join(NAME)) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// What tells the files of this journal, since this boot, from a copy of them.
fn store_identity(folder: &Path) -> io::Result<String> {
    let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
    let journal = file_identity(&fs::metadata(folder.join(super::store::FILE))?);
    Ok(format!("{journal} boot {}", boot.trim()))
}

/// The time since the system started, by a clock that no process can set.
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

/// The file system gives the inode of a file that was removed to the next one. That one was born later, where the file
/// system tells.
#[cfg(unix)]
fn file_identity(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let born = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let born = born.map_or(0, |age| age.as_nanos());
    format!("device {} inode {} born {born}", metadata.dev(), metadata.ino())
}

/// Where files have no such names every history is unproven: a record says nothing that the next start would.
#[cfg(not(unix))]
fn file_identity(_metadata: &Metadata) -> String {
    format!("process {}", std::process::id())
}

/// When a file was last changed, by the clock of its file system, in nanoseconds since 1970.
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
