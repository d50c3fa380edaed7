//! Storage of ended runs: their history in the archive, and their logs.

use std::fs::{self, File};
use std::io::Write as _;
use std::time::Duration;

use windlass_core::id::StepIx;
use windlass_store::archive::{Archive as _, SealedRun, SqliteArchive};
use windlass_store::conformance::block_on;
use windlass_store::journal::Position;
use windlass_store::logs::{FileLogs, LogId, LogStore as _};

use crate::bench_leader::BenchLeader;
use crate::disk::{REPEATS, ScratchFolder};
use crate::engine_fleet::{self, RUN};
use crate::journal::open;
use crate::measure::RepeatTimes;
use crate::plans;
use crate::sealed_start::{STEPS, head, run_id, sealed_run};
use crate::table::{RowTarget, TableRow, number};

/// The number of archived runs: large enough that the fixed size of the database does not count.
const RUNS: u64 = 20;

/// The chunk size of a log, and the size of the whole log.
const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 1 << 10;

/// The time to archive and to read a run, and the bytes of a step.
pub(crate) fn archive(scratch: &ScratchFolder) -> Vec<TableRow> {
    let run = one_run(scratch);
    let folder = scratch.empty("attic");
    let archive = SqliteArchive::open(&folder).expect("a new folder takes an archive");
    let (mut kept, mut read) = (Vec::new(), Vec::new());
    for at in 0..RUNS {
        let mut copy = run.clone();
        copy.record.run = run_id(at);
        let began = engine_fleet::now();
        block_on(archive.keep(copy)).expect("the archive has room");
        kept.push(began.elapsed());
        let began = engine_fleet::now();
        let events = block_on(archive.events(run_id(at), Position(0), run.events.len()));
        read.push(began.elapsed());
        assert_eq!(events.map(|events| events.len()), Ok(run.events.len()), "it reads as before");
    }
    drop(archive);
    let files = fs::read_dir(&folder).expect("the folder is there").flatten();
    let bytes: u64 = files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
    let (bytes, steps) = (bytes as f64, f64::from(STEPS) * RUNS as f64);
    let row = |name: &str, (best, median), unit, detail, target| TableRow {
        name: format!("archive: {name}"),
        best,
        median,
        unit,
        detail,
        target,
    };
    let millis = |took: Vec<Duration>| RepeatTimes::of(took).nanos_each(1e6);
    let name = format!("a run of {} steps", number(STEPS.into()));
    let each = (bytes / steps, bytes / steps);
    let size = format!("{} bytes for {RUNS} runs", number(bytes));
    let events = format!("{} events", run.events.len());
    vec![
        row(&format!("keep {name}"), millis(kept), "ms", "durable".to_owned(), RowTarget::None),
        row(&format!("read {name}"), millis(read), "ms", events, RowTarget::None),
        row("on disk", each, "bytes/step", size, RowTarget::AtMost(200.0)),
    ]
}

fn one_run(scratch: &ScratchFolder) -> SealedRun {
    let journal = open(&scratch.empty("run"));
    let plan = plans::fan_out(STEPS);
    let mut led = BenchLeader::new(&journal, 1);
    let before = head(&journal);
    led.submit(RUN, &plan);
    led.work(RUN);
    sealed_run(&journal, before, RUN, &plan)
}

/// The write rate of one step's output, compared with a plain file.
pub(crate) fn logs(scratch: &ScratchFolder) -> TableRow {
    let chunk = vec![b'x'; CHUNK];
    let took = (0..REPEATS).map(|_| append_log(scratch, &chunk)).collect();
    let bare = RepeatTimes::of((0..REPEATS).map(|_| bare_file(scratch, &chunk)).collect());
    #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
    let megabytes = (CHUNK * CHUNKS) as f64 / 1e6;
    let (best, median) = RepeatTimes::of(took).per_second(megabytes);
    let (floor, _) = bare.per_second(megabytes);
    TableRow {
        name: "logs: append in chunks of 64 KiB".to_owned(),
        best,
        median,
        unit: "MB/s",
        detail: format!("floor / {:.1}: a bare file takes {} MB/s", floor / best, number(floor)),
        target: RowTarget::None,
    }
}

fn append_log(scratch: &ScratchFolder, chunk: &[u8]) -> Duration {
    let logs = FileLogs::open(scratch.empty("logs")).expect("a new folder takes logs");
    let log = LogId::new(RUN, StepIx(0), 1, 1);
    let began = engine_fleet::now();
    let mut size = 0;
    for _ in 0..CHUNKS {
        size = block_on(logs.append(log, size, chunk.to_vec())).expect("the disk has room");
    }
    let took = began.elapsed();
    assert_eq!(size, (CHUNK * CHUNKS) as u64, "all of it is there");
    took
}

fn bare_file(scratch: &ScratchFolder, chunk: &[u8]) -> Duration {
    let folder = scratch.empty("bare-log");
    fs::create_dir(&folder).expect("there is room for a folder");
    let mut file = File::create_new(folder.join("log")).expect("there is room for a file");
    let began = engine_fleet::now();
    for _ in 0..CHUNKS {
        file.write_all(chunk).expect("the disk has room");
    }
    began.elapsed()
}
