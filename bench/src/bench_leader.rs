//! A leader over a journal, with workers that finish all grants before their next exchange.
//!
//! As in a real node, the leader makes the next decisions while an append is in flight, and no reply leaves before its
//! events are durable. A single worker has one exchange open: it waits for its batch, and the leader waits for the
//! worker. With two workers the leader decides about one while the other's batch is written.

use std::path::Path;
use std::sync::Arc;

use windlass_core::engine::{Engine, EngineConfig, EngineRequest, ProvenTime, SubmitRun};
use windlass_core::id::{RunId, StepIx, Term};
use windlass_core::leader::{Leader, LeaderEffect, WonTerm};
use windlass_core::outcome::RunStatus;
use windlass_core::plan::Plan;
use windlass_core::time::{Span, Time};
use windlass_store::conformance::block_on;
use windlass_store::db::StoreFuture;
use windlass_store::journal::{BatchId, EventBatch, Journal, Position, SqliteJournal};

use crate::bench_worker::{self, BenchWorker};
use crate::disk::{REPEATS, ScratchFolder};
use crate::engine_fleet::{self, BEGINNING, RUN};
use crate::journal::{bytes_in, open, win};
use crate::measure::{RepeatTimes, repeat};
use crate::plans;
use crate::table::{RowTarget, TableRow, number};

/// Slots of a worker: more than one reply grants.
const SLOTS: u32 = 1024;

/// Steps of the run that is led, and of the run that is found at the start.
const STEPS: u32 = 100_000;
pub(crate) const OPEN: u32 = 1_000_000;

/// Events of a page when a journal is read.
pub(crate) const PAGE: usize = 10_000;

/// A leader, its journal and its workers.
pub(crate) struct BenchLeader<'a> {
    leader: Leader<()>,
    journal: &'a SqliteJournal,
    /// The batch that is on its way, by its name.
    append_in_flight: Option<(BatchId, StoreFuture<'a, Position>)>,
    workers: Vec<BenchWorker>,
    now: Time,
    /// Generates batch names.
    last_batch: u64,
    appends: u32,
}

impl<'a> BenchLeader<'a> {
    /// Leads a new journal, with this many registered workers.
    pub(crate) fn new(journal: &'a SqliteJournal, workers: usize) -> Self {
        let won = win(journal);
        assert_eq!(won.term, Term(1), "the workers know the first term only");
        let terms = WonTerm {
            term: won.term,
            head: won.head,
            ttl: Span::secs(15),
            generation: won.generation,
            history: won.history,
            is_shared: false,
            own: None,
            proven: ProvenTime::NONE,
        };
        let engine = Engine::new(EngineConfig::default());
        let (leader, effects) = Leader::take_over(engine, terms, BEGINNING, 0);
        let hands = (0..workers).map(|at| BenchWorker::new(at, SLOTS)).collect();
        let (flight, now) = (None, BEGINNING);
        let mut led = Self {
            leader,
            journal,
            append_in_flight: flight,
            workers: hands,
            now,
            last_batch: 0,
            appends: 0,
        };
        led.carry_out(effects);
        for at in 0..workers {
            led.request(EngineRequest::Register(led.workers[at].register(&[])));
        }
        led.settle();
        led
    }

    /// Submits a plan to the leader under this run id.
    pub(crate) fn submit(&mut self, run: RunId, plan: &Arc<Plan>) {
        self.request(EngineRequest::Submit(SubmitRun::new(run, Arc::clone(plan))));
    }

    /// Returns the state, all of which is durable once no append is in flight.
    pub(crate) fn engine(&self) -> &Engine {
        self.leader.engine()
    }

    /// Works until the run has ended and all its events are durable.
    pub(crate) fn work(&mut self, run: RunId) {
        while self.leader.engine().run_status(run) == Some(RunStatus::Running) {
            self.now = self.now + Span::millis(1);
            for at in 0..self.workers.len() {
                if !self.workers[at].waits {
                    let exchange = self.workers[at].exchange();
                    self.request(EngineRequest::Exchange(exchange));
                }
            }
            assert!(self.wait_for_append(), "an exchange continues when a batch is durable");
        }
        self.settle();
        assert_eq!(self.leader.engine().run_status(run), Some(RunStatus::Succeeded));
    }

    /// Makes a request to the leader.
    pub(crate) fn request(&mut self, request: EngineRequest) {
        self.last_batch += 1;
        let effects = self.leader.request((), request, self.now, self.last_batch);
        self.carry_out(effects);
    }

    /// Waits until everything is durable.
    pub(crate) fn settle(&mut self) {
        while self.wait_for_append() {}
        assert!(self.leader.is_all_durable(), "nothing is on its way");
    }

    /// Waits for the batch in flight, if there is one.
    fn wait_for_append(&mut self) -> bool {
        let Some((batch, position)) = self.append_in_flight.take() else { return false };
        block_on(position).expect("the journal takes what its only leader writes");
        let effects = self.leader.on_durable(batch);
        self.carry_out(effects);
        true
    }

    fn carry_out(&mut self, effects: Vec<LeaderEffect<()>>) {
        for effect in effects {
            match effect {
                LeaderEffect::Append(batch) => self.append(batch),
                LeaderEffect::Reply(reply) => bench_worker::deliver(&mut self.workers, reply),
                LeaderEffect::Answer((), _) | LeaderEffect::Publish(_) => {}
            }
        }
    }

    fn append(&mut self, batch: Arc<EventBatch>) {
        self.append_in_flight = Some((batch.id, self.journal.append(batch)));
        self.appends += 1;
    }
}

/// Steps per second of engine and journal together, from the submission until everything is durable.
pub(crate) fn durable(scratch: &ScratchFolder, workers: usize, target: RowTarget) -> TableRow {
    let plan = plans::fan_out(STEPS);
    let mut appends = 0;
    let mut took = Vec::new();
    for _ in 0..REPEATS {
        let journal = open(&scratch.empty("led"));
        let mut led = BenchLeader::new(&journal, workers);
        let before = led.appends;
        let began = engine_fleet::now();
        led.submit(RUN, &plan);
        led.work(RUN);
        took.push(began.elapsed());
        appends = led.appends - before;
    }
    let (best, median) = RepeatTimes::of(took).per_second(STEPS.into());
    let s = if workers == 1 { "" } else { "s" };
    let each = f64::from(STEPS) / f64::from(appends);
    TableRow {
        name: format!("durable: fan-out, {workers} worker{s}"),
        best,
        median,
        unit: "steps/s",
        detail: format!("{appends} appends of {each:.0} steps; the plan's is one of them"),
        target,
    }
}

/// The time to read a run of a million steps from a journal until it can be led.
pub(crate) fn cold_start(
    scratch: &ScratchFolder,
    name: &str,
    plan: fn(u32) -> Arc<Plan>,
) -> TableRow {
    let folder = scratch.empty("cold");
    let journal = open(&folder);
    let mut led = BenchLeader::new(&journal, 1);
    led.submit(RUN, &plan(OPEN));
    led.settle();
    drop(led);
    drop(journal);
    let bytes = bytes_in(&folder);
    let times = repeat(REPEATS, || (), |()| start(&folder));
    #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
    let detail = format!("{} bytes of journal, in the page cache", number(bytes as f64));
    TableRow {
        name: format!("cold start: {name}, {} open steps", number(OPEN.into())),
        best: times.best.as_secs_f64(),
        median: times.median.as_secs_f64(),
        unit: "s",
        detail,
        target: RowTarget::AtMost(5.0),
    }
}

/// Opens the journal and folds all its events.
fn start(folder: &Path) -> (SqliteJournal, Engine) {
    let journal = open(folder);
    let mut engine = Engine::new(EngineConfig::default());
    let mut at = Position(0);
    loop {
        let page = block_on(journal.tail(at, PAGE)).expect("the journal is whole");
        let Some(last) = page.last() else { break };
        at = last.position();
        for recorded in page.iter().flat_map(|batch| &batch.events) {
            engine
                .apply(recorded.at, &recorded.event)
                .expect("a leader's own events fit a new engine");
        }
    }
    let last = engine.step_status(RUN, StepIx(OPEN - 1)).expect("its run is there");
    assert!(!last.is_terminal(), "and so are its steps");
    assert!(engine.counts().ready > 0, "of which some can begin");
    (journal, engine)
}
