//! The cost of an append and a read in a large journal, compared with an empty one.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::Term;
use windlass_core::time::Span;
use windlass_store::conformance::block_on;
use windlass_store::journal::{
    BatchId, EventBatch, Journal as _, Position, PostgresJournal, PostgresJournalOptions,
};

use super::server::BenchPostgres;
use crate::engine_fleet::now;
use crate::journal::{RecordedEvents, win};
use crate::measure::percentile;
use crate::table::{RowTarget, TableRow};

/// The number of events in the large journal.
const EVENTS: u64 = 5_000_000;

/// Steps per batch when the journal is filled, and of the measured batches.
const LARGE: usize = 2_048;
const SMALL: usize = 64;

/// Both journals are measured alternately, so that a noisy moment affects both.
const ROUNDS: usize = 10;
const EACH: usize = 50;

/// A term that lasts for the whole measurement without renewal.
const TERM: Span = Span::mins(60);

pub(super) fn rows(server: &BenchPostgres) -> Vec<TableRow> {
    let [mut empty, mut full] =
        ["empty", "full"].map(|name| GrownJournal::new(&server.database(name)));
    let began = now();
    let tape = RecordedEvents::of(u32::try_from(LARGE).expect("it is small"));
    while full.head.0 < EVENTS {
        full.append(&tape, LARGE);
    }
    let filled = began.elapsed();
    server.ask("full", "CHECKPOINT");
    for _ in 0..ROUNDS {
        for journal in [&mut empty, &mut full] {
            journal.measure(&tape);
        }
    }
    let detail = format!("{EVENTS} events, written in {:.0} s", filled.as_secs_f64());
    vec![
        row("append", &empty.appends, &full.appends, &detail),
        row("read", &empty.reads, &full.reads, &detail),
    ]
}

/// A journal, and the durations of its calls.
struct GrownJournal {
    journal: PostgresJournal,
    term: Term,
    head: Position,
    batches: u64,
    appends: Vec<Duration>,
    reads: Vec<Duration>,
}

impl GrownJournal {
    fn new(url: &str) -> Self {
        let options = PostgresJournalOptions { term: TERM, ..PostgresJournalOptions::default() };
        let opened = block_on(PostgresJournal::open(url, options));
        let journal = opened.expect("a new database takes a journal");
        let won = win(&journal);
        let (appends, reads) = (Vec::new(), Vec::new());
        Self { journal, term: won.term, head: won.head, batches: 0, appends, reads }
    }

    /// Appends a batch of this many steps and returns the duration.
    fn append(&mut self, tape: &RecordedEvents, steps: usize) -> Duration {
        self.batches += 1;
        let events = tape.events(0..steps);
        let batch = EventBatch::new(self.term, BatchId(self.batches), self.head, events);
        let batch = Arc::new(batch);
        let began = now();
        let appended = block_on(self.journal.append(batch));
        let took = began.elapsed();
        self.head = appended.expect("a batch is appended behind the one before");
        took
    }

    /// Appends a batch and reads it again.
    fn measure(&mut self, tape: &RecordedEvents) {
        for _ in 0..EACH {
            let took = self.append(tape, SMALL);
            self.appends.push(took);
            let from = Position(self.head.0 - 2 * SMALL as u64);
            let began = now();
            let read = block_on(self.journal.tail(from, 2 * SMALL));
            self.reads.push(began.elapsed());
            assert_eq!(read.map(|batches| batches.len()).ok(), Some(1), "the last batch is read");
        }
    }
}

fn row(what: &str, empty: &[Duration], full: &[Duration], detail: &str) -> TableRow {
    let [empty, full] = [empty, full].map(|took| percentile(took, 50).as_secs_f64() * 1e3);
    TableRow {
        name: format!("postgres: {what} behind a history / without"),
        best: full / empty,
        median: full / empty,
        unit: "times",
        detail: format!("p50 {full:.2} and {empty:.2} ms; {detail}"),
        target: RowTarget::AtMost(1.1),
    }
}
