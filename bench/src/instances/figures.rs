//! The rows of instances.

use std::fmt::Write as _;
use std::thread::available_parallelism;
use std::time::Duration;

use super::fleet::Fleet;
use crate::disk::Scratch;
use crate::measure::Times;
use crate::peers::Runner;
use crate::redis::Redis;
use crate::table::{Row, Target};

const REPEATS: usize = 3;

/// Steps of a second each, for so many instances at most.
const SLEEPERS: u32 = 24;
const INSTANCES: [u32; 4] = [1, 2, 4, 8];

/// Steps that count for each core, how far, and the most cores that are used.
const COUNTERS: u32 = 16;
const COUNTED: u32 = 200_000;
const CORES_MAX: u32 = 8;

/// Steps of the throughput, and slots of each of two instances.
const MANY: u32 = 50_000;
const SLOTS: u32 = 64;

/// Steps of the chain.
const CHAIN: u32 = 500;

/// All rows of this part.
pub(crate) fn rows(scratch: &Scratch) -> Vec<Row> {
    let redis = Redis::start(scratch).filter(|_| Runner::Windlass.is_there());
    let Some(redis) = redis else {
        return vec![absent("there is no redis-server, or no `windlass` beside this program")];
    };
    let fleet = Fleet::new(scratch, redis.url());
    let mut rows: Vec<Row> = INSTANCES.map(|instances| efficiency(&fleet, instances)).into();
    rows.push(cores(&fleet));
    rows.push(overhead(&fleet, 1, 1_000, Target::AtMost(10.0)));
    rows.push(overhead(&fleet, 10, 200, Target::AtMost(2.0)));
    rows.push(throughput(&fleet));
    rows.push(hop(&fleet));
    rows
}

/// Of the time that as many single slots have, how much goes to steps that sleep for a second.
fn efficiency(fleet: &Fleet, instances: u32) -> Row {
    let took = fleet.took(&matrix(SLEEPERS, "run: sleep 1"), instances, 1).as_secs_f64();
    let efficiency = f64::from(SLEEPERS) / (took * f64::from(instances));
    Row {
        name: format!("instances: {SLEEPERS} × sleep 1 by {instances}, efficiency"),
        best: efficiency,
        median: efficiency,
        unit: "",
        detail: format!("{took:.1} s, one slot each"),
        target: if instances == 8 { Target::AtLeast(0.9) } else { Target::None },
    }
}

/// How much faster steps are done that need a core each, by an instance for every core, than by one: for each core.
fn cores(fleet: &Fleet) -> Row {
    let cores = available_parallelism().map_or(1, |it| u32::try_from(it.get()).unwrap_or(1));
    let cores = cores.min(CORES_MAX);
    let counts = format!("run: 'i=0; while [ $i -lt {COUNTED} ]; do i=$((i+1)); done'");
    let pipeline = matrix(COUNTERS * cores, &counts);
    let pair = |_| (fleet.took(&pipeline, 1, 1), fleet.took(&pipeline, cores, 1));
    let (one, all): (Vec<Duration>, Vec<Duration>) = (0..REPEATS).map(pair).unzip();
    let (one, all) = (Times::of(one), Times::of(all));
    let each =
        |one: Duration, all: Duration| one.as_secs_f64() / all.as_secs_f64() / f64::from(cores);
    Row {
        name: format!("instances: steps that count by {cores}, speed-up for each core"),
        best: each(one.best, all.best),
        median: each(one.median, all.median),
        unit: "",
        detail: format!("{:.2?} against {:.2?} by one; one slot each", all.best, one.best),
        target: Target::AtLeast(0.8),
    }
}

/// What two instances of a slot take longer than one process of two, in turns.
fn overhead(fleet: &Fleet, millis: u32, steps: u32, target: Target) -> Row {
    let pipeline = matrix(steps, &format!("run: sleep 0.{millis:03}"));
    let pair = |_| (fleet.took(&pipeline, 1, 2), fleet.took(&pipeline, 2, 1));
    let (one, two): (Vec<Duration>, Vec<Duration>) = (0..REPEATS).map(pair).unzip();
    let (one, two) = (Times::of(one), Times::of(two));
    let more = |two: Duration, one: Duration| (two.as_secs_f64() / one.as_secs_f64() - 1.0) * 100.0;
    Row {
        name: format!("instances: overhead of two at steps of {millis} ms"),
        best: more(two.best, one.best),
        median: more(two.median, one.median),
        unit: "%",
        detail: format!("{steps} steps: {:.2?} against {:.2?} in one process", two.best, one.best),
        target,
    }
}

/// Steps a second.
fn throughput(fleet: &Fleet) -> Row {
    let took = |_| fleet.took(&matrix(MANY, "call: noop"), 2, SLOTS);
    let (best, median) = Times::of((0..REPEATS).map(took).collect()).per_second(MANY.into());
    Row {
        name: format!("instances: noop steps, 2 workers × {SLOTS} slots over Redis"),
        best,
        median,
        unit: "steps/s",
        detail: format!("{MANY} steps, durable; {REPEATS} runs; the leader works too"),
        target: Target::AtLeast(40_000.0),
    }
}

/// From a step to the one that needs it, both at an instance that is not the leader.
fn hop(fleet: &Fleet) -> Row {
    let mut pipeline = "steps:\n".to_owned();
    for at in 0..CHAIN {
        let needs = if at == 0 { String::new() } else { format!(", needs: s{}", at - 1) };
        let step = writeln!(pipeline, "  s{at}: {{ call: noop, requires: far{needs} }}");
        step.expect("a string takes all");
    }
    let took = |_| fleet.took(&pipeline, 2, SLOTS);
    let times = Times::of((0..REPEATS).map(took).collect());
    let each = |took: Duration| took.as_secs_f64() * 1e3 / f64::from(CHAIN);
    Row {
        name: "instances: hop of a noop chain over Redis".to_owned(),
        best: each(times.best),
        median: each(times.median),
        unit: "ms",
        detail: format!("{CHAIN} steps; {REPEATS} runs"),
        target: Target::AtMost(1.5),
    }
}

/// So many steps that do the same.
fn matrix(steps: u32, what: &str) -> String {
    let axis = |count: u32| (0..count).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
    let (a, b) = if steps.is_multiple_of(100) { (100, steps / 100) } else { (steps, 1) };
    format!("steps:\n  many: {{ {what}, matrix: {{ a: [{}], b: [{}] }} }}\n", axis(a), axis(b))
}

fn absent(why: &str) -> Row {
    Row {
        name: "instances: …".to_owned(),
        best: f64::NAN,
        median: f64::NAN,
        unit: "",
        detail: why.to_owned(),
        target: Target::None,
    }
}
