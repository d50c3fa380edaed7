//! The folder of the journal measurements, and the baselines of its disk.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::engine_fleet::now;
use crate::measure::{RepeatTimes, percentile, repeat};
use crate::table::{RowTarget, TableRow};

/// Repetitions of every row that waits for the disk.
pub(crate) const REPEATS: usize = 3;

/// Calls of the `fdatasync` baseline, and the bytes of each.
const CALLS: u32 = 300;
const WRITTEN: [u8; 8 << 10] = [7; 8 << 10];

/// The SQLite baseline: transactions, rows of each, and bytes of a row.
const TRANSACTIONS: u32 = 100;
const ROWS: u32 = 512;
const BLOB: [u8; 60] = [7; 60];

/// A temporary folder, removed at the end.
#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// A new folder.
    pub(crate) fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("windlass-bench-{}", std::process::id()));
        fs::create_dir(&folder).expect("there is room for a folder");
        Self(folder)
    }

    /// A path in it with this name, where no file exists.
    pub(crate) fn empty(&self, name: &str) -> PathBuf {
        let place = self.0.join(name);
        if place.is_dir() {
            fs::remove_dir_all(&place).expect("what the benchmark wrote it may remove");
        }
        place
    }

    /// The type of its file system, as Linux reports it. A file system in memory has no disk to measure.
    pub(crate) fn file_system(&self) -> String {
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let above = mounts.lines().filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (at, kind) = (fields.next()?, fields.next()?);
            self.0.starts_with(at).then_some((at.len(), kind))
        });
        let kind = above.max_by_key(|(length, _)| *length).map_or("unknown", |(_, kind)| kind);
        let warning = if kind == "tmpfs" { " (NOT A DISK: set TMPDIR)" } else { "" };
        format!("{kind}{warning} in {}", std::env::temp_dir().display())
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The speed of the disk without windlass.
pub(crate) fn disk_baselines(scratch: &ScratchFolder) -> Vec<TableRow> {
    let mut rows = sync_baselines(scratch);
    let times = repeat(REPEATS, || bare_database(scratch), |database| insert(&database));
    let (best, median) = times.per_second(f64::from(TRANSACTIONS * ROWS));
    rows.push(TableRow {
        name: format!("floor: SQLite, {ROWS} bare inserts a commit"),
        best,
        median,
        unit: "rows/s",
        detail: format!("WAL, FULL; {} bytes a row", BLOB.len()),
        target: RowTarget::None,
    });
    rows
}

fn sync_baselines(scratch: &ScratchFolder) -> Vec<TableRow> {
    let folder = scratch.empty("sync");
    fs::create_dir(&folder).expect("there is room for a folder");
    let runs = |over| {
        let file = |at: usize| folder.join(format!("{over}{at}"));
        (0..REPEATS).map(|at| sync_calls(&file(at), over)).collect::<Vec<_>>()
    };
    let (appended, over) = (runs(false), runs(true));
    let row = |name: &str, (best, median), unit, detail| TableRow {
        name: format!("floor: fdatasync of 8 KiB {name}"),
        best,
        median,
        unit,
        detail,
        target: RowTarget::None,
    };
    let whole = RepeatTimes::of(appended.iter().map(|calls| calls.iter().sum()).collect());
    let half = |runs: &[Vec<Duration>]| {
        let of = |percent| {
            RepeatTimes::of(runs.iter().map(|calls| percentile(calls, percent)).collect())
        };
        (of(50).micros(), format!("p99 {:.0} µs", of(99).micros().0))
    };
    let (grows, grows_p99) = half(&appended);
    let (stays, stays_p99) = half(&over);
    vec![
        row("appended", whole.per_second(CALLS.into()), "calls/s", scratch.file_system()),
        row("appended, p50", grows, "µs", grows_p99),
        row("written over, p50", stays, "µs", stays_p99),
    ]
}

/// Writes to a file and syncs it repeatedly: appends, or overwrites.
fn sync_calls(path: &Path, over: bool) -> Vec<Duration> {
    let mut file = File::create_new(path).expect("there is room for a file");
    let mut call = || -> io::Result<Duration> {
        let began = now();
        if over {
            file.rewind()?;
        }
        file.write_all(&WRITTEN)?;
        file.sync_data()?;
        Ok(began.elapsed())
    };
    (0..CALLS).map(|_| call().expect("the disk works and has room")).collect()
}

fn bare_database(scratch: &ScratchFolder) -> Connection {
    let folder = scratch.empty("bare");
    fs::create_dir(&folder).expect("there is room for a folder");
    let open = || -> rusqlite::Result<Connection> {
        let database = Connection::open(folder.join("bare.db"))?;
        database.pragma_update(None, "journal_mode", "WAL")?;
        database.pragma_update(None, "synchronous", "FULL")?;
        database
            .execute_batch("CREATE TABLE bare (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")?;
        Ok(database)
    };
    open().expect("SQLite opens a database")
}

fn insert(database: &Connection) {
    let transaction = || {
        let transaction = database.unchecked_transaction()?;
        let mut statement = database.prepare_cached("INSERT INTO bare (bytes) VALUES (?1)")?;
        for _ in 0..ROWS {
            statement.execute([BLOB])?;
        }
        transaction.commit()
    };
    for _ in 0..TRANSACTIONS {
        transaction().expect("SQLite inserts a row");
    }
}
