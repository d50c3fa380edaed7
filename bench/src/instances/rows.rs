//! The rows of instances.

use std::fmt::Write as _;
use std::thread::available_parallelism;
use std::time::Duration;

use super::instance_fleet::InstanceFleet;
use crate::disk::ScratchFolder;
use crate::measure::RepeatTimes;
use crate::redis::BenchRedis;
use crate::table::{RowTarget, TableRow};
use crate::task_runners::TaskRunner;

const REPEATS: usize = 3;

/// Steps of one second, and the maximum number of instances.
const SLEEPERS: u32 = 24;
const INSTANCES: [u32; 4] = [1, 2, 4, 8];

/// CPU-bound steps per core, the number that each counts to, and the maximum number of cores.
const COUNTERS: u32 = 16;
const COUNTED: u32 = 200_000;
const CORES_MAX: u32 = 8;

/// Steps of the throughput, and slots of each of two instances.
const MANY: u32 = 50_000;
const SLOTS: u32 = 64;

/// Steps of the chain.
const CHAIN: u32 = 500;

/// Returns all rows of this part.
pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    let redis = BenchRedis::start(scratch).filter(|_| TaskRunner::Windlass.is_installed());
    let Some(redis) = redis else {
        return vec![absent("there is no redis-server, or no `windlass` beside this program")];
    };
    let fleet = InstanceFleet::new(scratch, redis.url());
    let mut rows: Vec<TableRow> = INSTANCES.map(|instances| efficiency(&fleet, instances)).into();
    rows.push(cores(&fleet));
    rows.push(overhead(&fleet, 1, 1_000, RowTarget::AtMost(10.0)));
    rows.push(overhead(&fleet, 10, 200, RowTarget::AtMost(2.0)));
    rows.push(throughput(&fleet));
    rows.push(hop(&fleet));
    rows
}

/// The share of the slots' time that goes to steps that sleep for a second.
fn efficiency(fleet: &InstanceFleet, instances: u32) -> TableRow {
    let took = fleet.took(&matrix(SLEEPERS, "run: sleep 1"), instances, 1).as_secs_f64();
    let efficiency = f64::from(SLEEPERS) / (took * f64::from(instances));
    TableRow {
        name: format!("instances: {SLEEPERS} × sleep 1 by {instances}, efficiency"),
        best: efficiency,
        median: efficiency,
        unit: "",
        detail: format!("{took:.1} s, one slot each"),
        target: if instances == 8 { RowTarget::AtLeast(0.9) } else { RowTarget::None },
    }
}

/// The speedup of CPU-bound steps with one instance per core, compared with a single instance, per core.
fn cores(fleet: &InstanceFleet) -> TableRow {
    let cores = available_parallelism().map_or(1, |it| u32::try_from(it.get()).unwrap_or(1));
    let cores = cores.min(CORES_MAX);
    let counts = format!("run: 'i=0; while [ $i -lt {COUNTED} ]; do i=$((i+1)); done'");
    let pipeline = matrix(COUNTERS * cores, &counts);
    let pair = |_| (fleet.took(&pipeline, 1, 1), fleet.took(&pipeline, cores, 1));
    let (one, all): (Vec<Duration>, Vec<Duration>) = (0..REPEATS).map(pair).unzip();
    let (one, all) = (RepeatTimes::of(one), RepeatTimes::of(all));
    let each =
        |one: Duration, all: Duration| one.as_secs_f64() / all.as_secs_f64() / f64::from(cores);
    TableRow {
        name: format!("instances: steps that count by {cores}, speed-up for each core"),
        best: each(one.best, all.best),
        median: each(one.median, all.median),
        unit: "",
        detail: format!("{:.2?} against {:.2?} by one; one slot each", all.best, one.best),
        target: RowTarget::AtLeast(0.8),
    }
}

/// The extra time of two instances with one slot, compared with one process with two slots, measured alternately.
fn overhead(fleet: &InstanceFleet, millis: u32, steps: u32, target: RowTarget) -> TableRow {
    let pipeline = matrix(steps, &format!("run: sleep 0.{millis:03}"));
    let pair = |_| (fleet.took(&pipeline, 1, 2), fleet.took(&pipeline, 2, 1));
    let (one, two): (Vec<Duration>, Vec<Duration>) = (0..REPEATS).map(pair).unzip();
    let (one, two) = (RepeatTimes::of(one), RepeatTimes::of(two));
    let more = |two: Duration, one: Duration| (two.as_secs_f64() / one.as_secs_f64() - 1.0) * 100.0;
    TableRow {
        name: format!("instances: overhead of two at steps of {millis} ms"),
        best: more(two.best, one.best),
        median: more(two.median, one.median),
        unit: "%",
        detail: format!("{steps} steps: {:.2?} against {:.2?} in one process", two.best, one.best),
        target,
    }
}

/// Steps per second.
fn throughput(fleet: &InstanceFleet) -> TableRow {
    let took = |_| fleet.took(&matrix(MANY, "call: noop"), 2, SLOTS);
    let (best, median) = RepeatTimes::of((0..REPEATS).map(took).collect()).per_second(MANY.into());
    TableRow {
        name: format!("instances: noop steps, 2 workers × {SLOTS} slots over Redis"),
        best,
        median,
        unit: "steps/s",
        detail: format!("{MANY} steps, durable; {REPEATS} runs; the leader works too"),
        target: RowTarget::AtLeast(40_000.0),
    }
}

/// The time from a step to its dependent, both on an instance that does not lead.
fn hop(fleet: &InstanceFleet) -> TableRow {
    let mut pipeline = "steps:\n".to_owned();
    for at in 0..CHAIN {
        let needs = if at == 0 { String::new() } else { format!(", needs: s{}", at - 1) };
        let step = writeln!(pipeline, "  s{at}: {{ call: noop, requires: far{needs} }}");
        step.expect("a string takes all");
    }
    let took = |_| fleet.took(&pipeline, 2, SLOTS);
    let times = RepeatTimes::of((0..REPEATS).map(took).collect());
    let each = |took: Duration| took.as_secs_f64() * 1e3 / f64::from(CHAIN);
    TableRow {
        name: "instances: hop of a noop chain over Redis".to_owned(),
        best: each(times.best),
        median: each(times.median),
        unit: "ms",
        detail: format!("{CHAIN} steps; {REPEATS} runs"),
        target: RowTarget::AtMost(1.5),
    }
}

/// Writes this many equal steps.
fn matrix(steps: u32, what: &str) -> String {
    let axis = |count: u32| (0..count).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
    let (a, b) = if steps.is_multiple_of(100) { (100, steps / 100) } else { (steps, 1) };
    format!("steps:\n  many: {{ {what}, matrix: {{ a: [{}], b: [{}] }} }}\n", axis(a), axis(b))
}

fn absent(why: &str) -> TableRow {
    TableRow {
        name: "instances: …".to_owned(),
        best: f64::NAN,
        median: f64::NAN,
        unit: "",
        detail: why.to_owned(),
        target: RowTarget::None,
    }
}
