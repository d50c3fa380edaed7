//! The cases of the engine's measurements, and their rows.

use std::sync::Arc;

use windlass_core::plan::Plan;

use crate::engine_fleet::{self, EngineFleet, FleetWorkers};
use crate::heap::HeapCount;
use crate::measure::{RepeatTimes, repeat};
use crate::plans;
use crate::table::{RowTarget, TableRow, number};

/// Steps of the ordinary cases.
pub(crate) const STEPS: u32 = 100_000;

/// Repetitions of every row; the best and the median of them are printed.
pub(crate) const REPEATS: usize = 5;

const LOCKS: u32 = 1_000;
const CLASSES: u32 = 50;

/// Workers of the case with several.
const WORKERS: u32 = 8;

/// A plan and its workers.
#[derive(Debug)]
pub(crate) struct EngineCase {
    pub(crate) name: &'static str,
    pub(crate) plan: Arc<Plan>,
    pub(crate) workers: FleetWorkers,
}

/// Returns every case of the engine's speed, including the layered graph.
pub(crate) fn engine_cases() -> Vec<EngineCase> {
    let one = |name, plan| EngineCase::new(name, plan, FleetWorkers::one());
    let classes = plans::classes(STEPS, CLASSES);
    let everything: Vec<String> = (0..CLASSES).map(plans::label).collect();
    vec![
        one("fan-out", plans::fan_out(STEPS)),
        one("chain", plans::chain(STEPS)),
        one("layered", plans::layered(STEPS)),
        one("1,000 locks", plans::locks(STEPS, LOCKS)),
        EngineCase::new(
            "50 classes, 1 worker",
            Arc::clone(&classes),
            FleetWorkers::of(vec![everything], 1024),
        ),
        EngineCase::new(
            "50 classes, 8 workers",
            classes,
            FleetWorkers::of((0..WORKERS).map(labels_of).collect(), 128),
        ),
        one("a lock for each step", plans::locks(STEPS, STEPS)),
        one("pairs of 1,000 locks (10,000 steps)", plans::lock_pairs(STEPS / 10, LOCKS)),
        EngineCase::new(
            "chain beside 1,000 idle workers (10,000 steps)",
            plans::chain(STEPS / 10),
            FleetWorkers::of(vec![Vec::new(); 1_000], 4),
        ),
    ]
}

/// The labels of one of several workers: two workers match every class.
fn labels_of(worker: u32) -> Vec<String> {
    let serves = |class: &u32| class % WORKERS == worker || (class + 3) % WORKERS == worker;
    (0..CLASSES).filter(serves).map(plans::label).collect()
}

impl EngineCase {
    fn new(name: &'static str, plan: Arc<Plan>, workers: FleetWorkers) -> Self {
        Self { name, plan, workers }
    }

    /// The durations from the submission to the end of the run.
    pub(crate) fn times(&self, repeats: usize) -> RepeatTimes {
        let run = |mut fleet: EngineFleet| {
            fleet.run(&self.plan);
            fleet
        };
        repeat(repeats, || EngineFleet::new(&self.workers), run)
    }

    /// Returns the longest decision, in words.
    fn longest(&self) -> String {
        let longest = engine_fleet::longest(&self.workers, &self.plan);
        format!("longest decision {:.1} ms", longest.as_secs_f64() * 1e3)
    }

    /// Steps per second, compared with bare counters measured in the same minute.
    pub(crate) fn speed(&self, floor: f64, target: RowTarget) -> TableRow {
        let (best, median) = self.times(REPEATS).per_second(self.plan.step_count().into());
        let mut fleet = EngineFleet::new(&self.workers);
        fleet.run(&self.plan);
        TableRow {
            name: format!("engine: {}", self.name),
            best,
            median,
            unit: "steps/s",
            detail: format!(
                "floor / {:.0}; {} exchanges, {}",
                floor / best,
                fleet.exchanges,
                self.longest()
            ),
            target,
        }
    }

    /// Events per second when the events of the case are folded into a new engine.
    pub(crate) fn replay(&self) -> TableRow {
        let events = engine_fleet::record(&self.workers, &self.plan);
        let times = repeat(REPEATS, || (), |()| engine_fleet::replay(&events));
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 events")]
        let count = events.len() as f64;
        let (best, median) = times.per_second(count);
        TableRow {
            name: format!("replay: {}", self.name),
            best,
            median,
            unit: "events/s",
            detail: format!("{} events", number(count)),
            target: RowTarget::AtLeast(500_000.0),
        }
    }
}

/// Nanoseconds per step of fan-outs of growing size, and the ratio of the largest to an ordinary one.
pub(crate) fn growth() -> Vec<TableRow> {
    let mut rows = Vec::new();
    for steps in [1_000, 10_000, 100_000, 1_000_000] {
        let case = fan_out(steps);
        // Small runs end quickly, so several of them cost as little as one large run.
        let repeats = REPEATS.max(100_000 / steps as usize);
        let (best, median) = case.times(repeats).nanos_each(steps.into());
        rows.push(TableRow {
            name: format!("growth: fan-out of {}", number(steps.into())),
            best,
            median,
            unit: "ns/step",
            detail: format!("{repeats} repetitions, {}", case.longest()),
            target: RowTarget::None,
        });
    }
    let (ordinary, large) = (&rows[2], &rows[3]);
    rows.push(TableRow {
        name: "growth: 1,000,000 / 100,000".to_owned(),
        best: large.best / ordinary.best,
        median: large.median / ordinary.median,
        unit: "times",
        detail: "cost of a step".to_owned(),
        target: RowTarget::AtMost(1.3),
    });
    rows
}

/// Bytes on the heap per step of a run of a million steps.
pub(crate) fn memory() -> Vec<TableRow> {
    let steps = 1_000_000;
    let heap = HeapCount::begin();
    let case = fan_out(steps);
    let planned = heap.live();
    let mut fleet = EngineFleet::new(&case.workers);
    fleet.submit(&case.plan);
    let submitted = heap.live();
    heap.restart_peak();
    fleet.work();
    let peak = heap.peak();
    let row = |name: &str, bytes: usize, target| {
        #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
        let each = bytes as f64 / f64::from(steps);
        TableRow {
            name: format!("memory: {name}"),
            best: each,
            median: each,
            unit: "bytes/step",
            detail: format!("{} MB on the heap", bytes / 1_000_000),
            target,
        }
    };
    vec![
        row("plan of 1,000,000", planned, RowTarget::None),
        row("plan and submitted run", submitted, RowTarget::AtMost(300.0)),
        row("peak while it runs", peak, RowTarget::AtMost(300.0)),
    ]
}

fn fan_out(steps: u32) -> EngineCase {
    EngineCase::new("fan-out", plans::fan_out(steps), FleetWorkers::one())
}
