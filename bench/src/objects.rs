//! Files through an object store in a folder, beside `cp -r` and a pipe of `tar` and `zstd` on the same disk.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use windlass_core::time::Time;
use windlass_store::conformance::block_on;
use windlass_store::objects::FolderObjects;
use windlass_store::objects::tree::{StatCache, capture_tree, materialize_tree, send_tree};

use crate::disk::ScratchFolder;
use crate::engine_fleet::now;
use crate::measure::RepeatTimes;
use crate::process::peak_memory;
use crate::sample_tree::{large_file, many_files};
use crate::table::{RowTarget, TableRow, number};

/// Repetitions: each writes gigabytes.
const REPEATS: usize = 3;

/// Files of the two trees of small files. The first is that of a slow upload of artifacts in a public report.
const SENT_FILES: u32 = 86_000;
const SENT_FILE_SIZE: u32 = 10_000;
const UNCHANGED_FILES: u32 = 100_000;

/// Later than every file, so that all of them have settled.
const LATE: Time = Time::from_millis(10_000_000_000_000);

/// A tree to carry, and its size in bytes.
#[derive(Clone, Copy, Debug)]
struct Load<'a> {
    name: &'a str,
    folder: &'a Path,
    bytes: f64,
}

pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    let mut rows = Vec::new();
    let folder = scratch.empty("large-file");
    let bytes = large_file(&folder, 1 << 30);
    rows.extend(carry(scratch, Load { name: "a file of 1 GiB", folder: &folder, bytes }));
    drop(scratch.empty("large-file"));
    let folder = scratch.empty("small-files");
    let bytes = many_files(&folder, SENT_FILES, SENT_FILE_SIZE);
    let name = format!("{} files", number(SENT_FILES.into()));
    rows.extend(carry(scratch, Load { name: &name, folder: &folder, bytes }));
    drop(scratch.empty("small-files"));
    rows.push(unchanged(scratch));
    rows
}

/// Carries a tree through a store and by other means.
fn carry(scratch: &ScratchFolder, load: Load<'_>) -> Vec<TableRow> {
    let (mut put, mut again, mut get, mut sum, mut peaks) =
        (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..REPEATS {
        let store = FolderObjects::open(scratch.empty("store")).expect("there is room");
        let target = scratch.empty("target");
        let before = reset_peak();
        put.push(timed(|| send(&store, load.folder)));
        peaks.push(peak_memory(std::process::id()).unwrap_or(f64::NAN) - before);
        again.push(timed(|| send(&store, load.folder)));
        get.push(timed(|| write(&store, load.folder, &target)));
        sum.push(put[put.len() - 1] + get[get.len() - 1]);
    }
    let copied = || timed(|| shell("cp -r \"$1\" \"$2\"", load.folder, &scratch.empty("target")));
    let synced = "cp -r \"$1\" \"$2\" && sync -f \"$2\"";
    let synced = || timed(|| shell(synced, load.folder, &scratch.empty("target")));
    let pipe =
        "mkdir \"$2\" && tar -C \"$1\" -cf - . | zstd -1 -q | zstd -d -q | tar -C \"$2\" -xf -";
    let piped = || timed(|| shell(pipe, load.folder, &scratch.empty("target")));
    let copied = RepeatTimes::of((0..REPEATS).map(|_| copied()).collect());
    let synced = RepeatTimes::of((0..REPEATS).map(|_| synced()).collect());
    let piped = RepeatTimes::of((0..REPEATS).map(|_| piped()).collect());
    drop((scratch.empty("store"), scratch.empty("target")));
    let (sum, again) = (RepeatTimes::of(sum), RepeatTimes::of(again));
    let peak = peaks.into_iter().fold(0.0, f64::max);
    let peak = format!("{peak:.0} MiB more at its peak");
    vec![
        row(load, "floor: cp -r", copied, "not synced", RowTarget::None),
        row(load, "floor: cp -r, then sync", synced, "", RowTarget::None),
        row(load, "floor: tar | zstd -1 | zstd -d | tar", piped, "", RowTarget::None),
        row(load, "objects: put", RepeatTimes::of(put), &peak, RowTarget::None),
        row(load, "objects: get", RepeatTimes::of(get), "", RowTarget::None),
        row(load, "objects: put and get", sum, "pipe × 1.3", at_most(piped.best, 1.3)),
        row(load, "objects: put again", again, "pipe × 0.1", at_most(piped.best, 0.1)),
    ]
}

fn at_most(anchor: Duration, factor: f64) -> RowTarget {
    RowTarget::AtMost(anchor.as_secs_f64() * factor)
}

fn row(
    load: Load<'_>,
    name: &str,
    times: RepeatTimes,
    detail: &str,
    target: RowTarget,
) -> TableRow {
    let (best, median) = times.nanos_each(1e9);
    let rate = format!("{} MB/s", number(load.bytes / 1e6 / best));
    let detail = if detail.is_empty() { rate } else { format!("{rate}; {detail}") };
    TableRow { name: format!("{name}, {}", load.name), best, median, unit: "s", detail, target }
}

/// Resets the peak of this process's memory to its memory now, and returns it in MiB.
fn reset_peak() -> f64 {
    drop(fs::write("/proc/self/clear_refs", "5"));
    peak_memory(std::process::id()).unwrap_or(f64::NAN)
}

/// Captures a tree that was never captured before, and sends it.
fn send(store: &FolderObjects, folder: &Path) {
    let captured = capture_tree(folder, &StatCache::default(), LATE).expect("it is readable");
    block_on(send_tree(store, folder, &captured.manifest)).expect("the disk has room");
}

fn write(store: &FolderObjects, folder: &Path, target: &Path) {
    let captured = capture_tree(folder, &StatCache::default(), LATE).expect("it is readable");
    block_on(materialize_tree(store, &captured.manifest, target, None)).expect("there is room");
}

fn shell(script: &str, from: &Path, to: &Path) {
    let status = Command::new("sh").args(["-c", script, "sh"]).args([from, to]).status();
    assert!(status.is_ok_and(|status| status.success()), "{script}");
}

fn timed(call: impl FnOnce()) -> Duration {
    let began = now();
    call();
    began.elapsed()
}

/// The time to find that no file of a tree has changed: from reading the cache to the encoded manifest.
fn unchanged(scratch: &ScratchFolder) -> TableRow {
    let folder = scratch.empty("unchanged");
    many_files(&folder, UNCHANGED_FILES, 100);
    let file = scratch.empty("cache");
    fs::create_dir(&file).expect("there is room");
    let file = file.join("stat");
    let first = capture_tree(&folder, &StatCache::default(), LATE).expect("it is readable");
    first.cache.save(&file).expect("there is room");
    let check = || {
        let captured = capture_tree(&folder, &StatCache::load(&file), LATE).expect("readable");
        assert_eq!(captured.hashed, 0, "no file has changed");
        assert!(captured.manifest.encode() == first.manifest.encode(), "it is the same");
    };
    let times = RepeatTimes::of((0..5).map(|_| timed(check)).collect());
    drop(scratch.empty("unchanged"));
    let (best, median) = times.nanos_each(1e6);
    TableRow {
        name: format!("objects: {} unchanged files", number(UNCHANGED_FILES.into())),
        best,
        median,
        unit: "ms",
        detail: "with their manifest".to_owned(),
        target: RowTarget::AtMost(300.0),
    }
}
