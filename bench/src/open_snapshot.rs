//! A snapshot of a million open steps: saving it, and starting from it.

use std::fs;
use std::path::Path;

use windlass_store::conformance::block_on;
use windlass_store::journal::Journal as _;

use crate::bench_leader::{BenchLeader, OPEN};
use crate::disk::{REPEATS, ScratchFolder};
use crate::engine_fleet::{self, RUN};
use crate::journal::open;
use crate::measure::{RepeatTimes, repeat};
use crate::table::{RowTarget, TableRow, number};
use crate::{embedded_node, plans, sealed_start};

/// Time and bytes of a snapshot, and the start from it.
pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    let folder = scratch.empty("saved");
    let journal = open(&folder);
    let mut led = BenchLeader::new(&journal, 1);
    led.submit(RUN, &plans::layered(OPEN));
    led.settle();
    let position = sealed_start::head(&journal);
    let (mut encoded, mut written) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let began = engine_fleet::now();
        let snapshot = sealed_start::snapshot(&journal, &led);
        encoded.push(began.elapsed());
        block_on(journal.save(snapshot)).expect("the disk has room");
        written.push(began.elapsed());
    }
    drop(led);
    drop(journal);
    let steps = number(OPEN.into());
    let (encoded, written) = (RepeatTimes::of(encoded), RepeatTimes::of(written));
    let held = format!("{:.2} s of it the state is held still", encoded.best.as_secs_f64());
    let runtime = embedded_node::runtime();
    let started =
        repeat(REPEATS, || (), |()| sealed_start::start(&runtime, &folder, None, position));
    let row = |name: String, (best, median), unit, detail, target| TableRow {
        name,
        best,
        median,
        unit,
        detail,
        target,
    };
    let seconds = |times: RepeatTimes| (times.best.as_secs_f64(), times.median.as_secs_f64());
    let bytes = snapshot_bytes(&folder);
    let each = bytes / f64::from(OPEN);
    let size = format!("{} bytes", number(bytes));
    let (save, from) =
        (format!("snapshot: saving {steps} open steps"), "snapshot: starting from it");
    vec![
        row(save, seconds(written), "s", held, RowTarget::None),
        row(
            "snapshot: its file".to_owned(),
            (each, each),
            "bytes/step",
            size,
            RowTarget::AtMost(200.0),
        ),
        row(from.to_owned(), seconds(started), "s", "layered".to_owned(), RowTarget::AtMost(5.0)),
    ]
}

/// The size of the largest snapshot in a journal's folder.
#[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
fn snapshot_bytes(folder: &Path) -> f64 {
    let files = fs::read_dir(folder).expect("the folder is there").flatten();
    let snapshots =
        files.filter(|file| file.file_name().to_string_lossy().starts_with("snapshot-"));
    snapshots.filter_map(|file| file.metadata().ok()).map(|file| file.len()).max().unwrap_or(0)
        as f64
}
