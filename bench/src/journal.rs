//! Measurements of the journals: batches of real events, each durable before the next.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::engine::Event;
use windlass_core::time::Time;
use windlass_store::conformance::block_on;
use windlass_store::journal::{
    BatchId, CampaignOutcome, EventBatch, Journal, JournalLeadership, LeaderCandidate,
    MemoryJournal, Position, SqliteJournal,
};

use crate::disk::{REPEATS, ScratchFolder};
use crate::engine_fleet::{self, BEGINNING, FleetWorkers};
use crate::measure::{RepeatTimes, percentile};
use crate::plans;
use crate::table::{RowTarget, TableRow, number};

/// Steps per batch, and the number of batches: enough of the largest ones for several checkpoints of the WAL.
const BATCHES: [(usize, usize); 3] = [(1, 2_000), (64, 1_600), (512, 200)];

/// The number of small batches in a journal that has grown: the one in memory searches all of them.
const GROWN: (usize, usize) = (1, 20_000);

/// The events of a run's steps, as an engine decided them.
#[derive(Debug)]
pub(crate) struct RecordedEvents {
    granted: Vec<(Time, Event)>,
    ended: Vec<(Time, Event)>,
}

impl RecordedEvents {
    /// The events of a run of this many steps.
    pub(crate) fn of(steps: u32) -> Self {
        let events = engine_fleet::record(&FleetWorkers::one(), &plans::fan_out(steps)).into_iter();
        let (granted, rest): (Vec<_>, Vec<_>) =
            events.partition(|(_, event)| matches!(event, Event::Granted(_)));
        let is_end = |(_, event): &(Time, Event)| matches!(event, Event::LeaseEnded(_));
        Self { granted, ended: rest.into_iter().filter(is_end).collect() }
    }

    /// The grants of these steps, then their ends.
    pub(crate) fn events(&self, steps: Range<usize>) -> Vec<(Time, Event)> {
        let mut events = self.granted[steps.clone()].to_vec();
        events.extend_from_slice(&self.ended[steps]);
        events
    }

    /// Batches of this many steps: all grants, then all ends.
    fn batches(&self, won: JournalLeadership, steps: usize, count: usize) -> Vec<Arc<EventBatch>> {
        let batch = |at: usize| {
            let events = self.events(at * steps..(at + 1) * steps);
            let (after, id) = (Position((at * steps * 2) as u64), BatchId(at as u64));
            Arc::new(EventBatch::new(won.term, id, after, events))
        };
        (0..count).map(batch).collect()
    }
}

/// The duration of each append, one list per repetition, and the journal of the last repetition.
#[derive(Debug)]
struct AppendTimes {
    took: Vec<Vec<Duration>>,
    bytes: u64,
}

/// The rates of both journals, the duration of one durable request, and the disk space of a step.
pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    let steps = BATCHES.map(|(steps, count)| steps * count).into_iter().max().unwrap_or(0);
    let tape = RecordedEvents::of(u32::try_from(steps).expect("batches are few"));
    let mut rows = Vec::new();
    for (steps, count) in [BATCHES[0], GROWN, BATCHES[1], BATCHES[2]] {
        let mut row = rate("memory", steps, &in_memory(&tape, steps, count));
        if (steps, count) == GROWN {
            row.name.push_str(", ten times as many");
        }
        rows.push(row);
    }
    for (steps, count) in BATCHES {
        let appends = in_sqlite(scratch, &tape, steps, count);
        rows.push(rate("SQLite", steps, &appends));
        if steps == 1 {
            rows.push(request(&appends, 50, RowTarget::AtMost(300.0)));
            rows.push(request(&appends, 99, RowTarget::None));
        }
        if steps == 512 {
            rows.push(size(&appends, steps * count));
        }
    }
    rows
}

fn in_memory(tape: &RecordedEvents, steps: usize, count: usize) -> AppendTimes {
    let run = |_| {
        let journal = MemoryJournal::new(clock);
        let won = win(&journal);
        append_all(&journal, tape.batches(won, steps, count))
    };
    AppendTimes { took: (0..REPEATS).map(run).collect(), bytes: 0 }
}

fn in_sqlite(
    scratch: &ScratchFolder,
    tape: &RecordedEvents,
    steps: usize,
    count: usize,
) -> AppendTimes {
    let mut bytes = 0;
    let run = |_| {
        let folder = scratch.empty("batches");
        let journal = open(&folder);
        let won = win(&journal);
        let took = append_all(&journal, tape.batches(won, steps, count));
        drop(journal);
        bytes = bytes_in(&folder);
        took
    };
    AppendTimes { took: (0..REPEATS).map(run).collect(), bytes }
}

fn append_all(journal: &dyn Journal, batches: Vec<Arc<EventBatch>>) -> Vec<Duration> {
    let append = |batch: Arc<EventBatch>| {
        let end = batch.position();
        let began = engine_fleet::now();
        let position = block_on(journal.append(batch));
        let took = began.elapsed();
        assert_eq!(position.ok(), Some(end), "a batch is appended behind the one before");
        took
    };
    batches.into_iter().map(append).collect()
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 steps")]
fn rate(journal: &str, steps: usize, appends: &AppendTimes) -> TableRow {
    let count = appends.took[0].len();
    let whole = RepeatTimes::of(appends.took.iter().map(|took| took.iter().sum()).collect());
    let (best, median) = whole.per_second((steps * count) as f64);
    TableRow {
        name: format!(
            "journal: {journal}, {steps} step{} a batch",
            if steps == 1 { "" } else { "s" }
        ),
        best,
        median,
        unit: "steps/s",
        detail: format!("{} events/s; {} appends", number(best * 2.0), number(count as f64)),
        target: RowTarget::None,
    }
}

fn request(appends: &AppendTimes, percent: usize, target: RowTarget) -> TableRow {
    let of_each = appends.took.iter().map(|took| percentile(took, percent)).collect();
    let (best, median) = RepeatTimes::of(of_each).micros();
    TableRow {
        name: format!("journal: SQLite, one durable request, p{percent}"),
        best,
        median,
        unit: "µs",
        detail: format!("{} requests, one after the other", appends.took[0].len()),
        target,
    }
}

#[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
fn size(appends: &AppendTimes, steps: usize) -> TableRow {
    let each = appends.bytes as f64 / steps as f64;
    TableRow {
        name: "journal: SQLite, on disk at 512 steps a batch".to_owned(),
        best: each,
        median: each,
        unit: "bytes/step",
        detail: format!("{} bytes after closing", number(appends.bytes as f64)),
        target: RowTarget::AtMost(200.0),
    }
}

/// The journal in a folder of the benchmark.
pub(crate) fn open(folder: &Path) -> SqliteJournal {
    SqliteJournal::open(folder, clock).expect("a new folder takes a journal")
}

/// Wins a term without competition.
pub(crate) fn win(journal: &dyn Journal) -> JournalLeadership {
    let candidate = LeaderCandidate { node: "bench".to_owned(), address: None };
    match block_on(journal.campaign(candidate)) {
        Ok(CampaignOutcome::Won(won)) => won,
        other => panic!("no other node leads, and yet: {other:?}"),
    }
}

/// The size of the database and its WAL.
pub(crate) fn bytes_in(folder: &Path) -> u64 {
    let size = |name: &str| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    size("journal.db") + size("journal.db-wal")
}

/// The clock of the store. No row depends on it.
fn clock() -> Time {
    BEGINNING
}
