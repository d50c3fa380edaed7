//! Measures windlass beside the floors of the minute and prints one table.
//!
//! `windlass-bench` prints the table. `windlass-bench only <case> [times]` does nothing but drive one case, for a
//! profiler; `windlass-bench only-replay <case> [times]` the same for its replay. Cases are named as in the table.
//! `windlass-bench journal` prints what the table says about the journal, `stores` about starts, snapshots, archive and
//! logs, `file` about the pipeline file, `typed` about steps in Rust, `local` about a whole node, `cluster` about many over HTTP
//! (`cluster long` watches the idle ones for a minute), `redis` about workers that leave letters there, `postgres` about
//! PostgreSQL beside queues on it (`postgres long` for a quarter of an hour: `sustained`, `history` and `failover`, each of
//! which can be named alone), `instances` about processes that share a run over Redis, `run` about the program beside other
//! task runners.
#![expect(clippy::print_stdout, reason = "the table is what the program is for")]

mod cases;
mod cluster;
mod disk;
mod fleet;
mod floors;
mod graphs;
mod hand;
mod heap;
mod instances;
mod journal;
mod kept;
mod led;
mod local;
mod measure;
mod observer;
mod patience;
mod peers;
mod pipeline;
mod plans;
mod postgres;
mod process;
mod queue;
mod redis;
mod runs;
mod saved;
mod sealed;
mod table;
mod typed;

use cases::{Case, REPEATS, STEPS};
use disk::Scratch;
use floors::{Bare, COPIED};
use measure::{Times, repeat};
use postgres::Long;
use table::{Row, Target};

/// Turns of the map floor.
const TURNS: u32 = 1_000_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let scratch = Scratch::new();
    match args.first().map(String::as_str) {
        Some("only" | "only-replay") => only(&cases::all(), &args),
        Some("journal") => {
            let mut rows = disk::floors(&scratch);
            rows.extend(measure_journal(&scratch));
            print!("{}", table::render(&rows));
        }
        Some("stores") => print!("{}", table::render(&measure_stores(&scratch))),
        Some("typed") => print!("{}", table::render(&typed::rows())),
        Some("file") => print!("{}", table::render(&pipeline::rows())),
        Some("local") => {
            let mut rows = disk::floors(&scratch);
            rows.extend([local::throughput(&scratch), local::hop(&scratch)]);
            print!("{}", table::render(&rows));
        }
        Some("cluster") => {
            let long = args.get(1).is_some_and(|arg| arg == "long");
            let mut rows = disk::floors(&scratch);
            rows.extend(cluster::rows(&scratch, long));
            print!("{}", table::render(&rows));
        }
        Some("redis") => {
            let mut rows = disk::floors(&scratch);
            rows.extend(redis::rows(&scratch));
            print!("{}", table::render(&rows));
        }
        Some("postgres") => {
            let mut rows = disk::floors(&scratch);
            rows.extend(measure_postgres(&scratch, args.get(1).map(String::as_str)));
            print!("{}", table::render(&rows));
        }
        Some("instances") => print!("{}", table::render(&instances::rows(&scratch))),
        Some("run") => {
            let mut rows = disk::floors(&scratch);
            rows.extend([local::throughput(&scratch), local::hop(&scratch)]);
            rows.extend(runs::rows(&scratch));
            print!("{}", table::render(&rows));
        }
        Some(_) | None => print!("{}", table::render(&measure_all(&cases::all(), &scratch))),
    }
}

/// Drives the cases whose names begin as the argument says.
fn only(cases: &[Case], args: &[String]) {
    let wanted = args.get(1).map_or("", String::as_str);
    let times: usize = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(REPEATS);
    for case in cases.iter().filter(|case| case.name.starts_with(wanted)) {
        let took = if args[0] == "only" {
            case.times(times)
        } else {
            let events = fleet::record(&case.crew, &case.plan);
            repeat(times, || (), |()| fleet::replay(&events))
        };
        println!("{}: best {:?}, median {:?}", case.name, took.best, took.median);
    }
}

fn measure_all(cases: &[Case], scratch: &Scratch) -> Vec<Row> {
    let layered = cases.iter().find(|case| case.name == "layered");
    let bare = Bare::of(&layered.expect("there is a layered case").plan);
    let counters = repeat(REPEATS, || (), |()| assert_eq!(bare.drain(), STEPS));
    let (floor, _) = counters.per_second(STEPS.into());
    let mut rows = vec![
        floor_row("bare DAG counters", counters, f64::from(STEPS), "nodes/s"),
        floor_row("BTreeMap insert + remove", map_floor(), f64::from(TURNS), "pairs/s"),
        floor_row("memory copy", copy_floor(), f64::from(COPIED) / 1e9, "GB/s"),
    ];
    rows.extend(disk::floors(scratch));
    for case in cases {
        let target = match case.name {
            "fan-out" => Target::AtLeast(1_000_000.0),
            _ => Target::None,
        };
        rows.push(case.speed(floor, target));
    }
    rows.extend(cases::growth());
    rows.extend(cases::memory());
    rows.extend(cases.iter().map(Case::replay));
    rows.extend(pipeline::rows());
    rows.extend(measure_journal(scratch));
    rows.extend(measure_stores(scratch));
    rows.extend(cluster::rows(scratch, false));
    rows.extend(redis::rows(scratch));
    rows.extend(postgres::rows(scratch));
    rows.extend(runs::rows(scratch));
    rows
}

/// What takes a minute or two, or one of the parts that take longer, or all of those.
fn measure_postgres(scratch: &Scratch, part: Option<&str>) -> Vec<Row> {
    match part {
        None => postgres::rows(scratch),
        Some("long") => postgres::long_rows(scratch, &Long::ALL),
        Some(name) => {
            let long = Long::named(name).expect("long, history, failover or sustained");
            postgres::long_rows(scratch, &[long])
        }
    }
}

fn measure_journal(scratch: &Scratch) -> Vec<Row> {
    let mut rows = journal::rows(scratch);
    rows.push(led::durable(scratch, 1, Target::AtLeast(100_000.0)));
    rows.push(led::durable(scratch, 2, Target::None));
    rows.push(led::cold_start(scratch, "fan-out", plans::fan_out));
    rows.push(led::cold_start(scratch, "layered", plans::layered));
    rows
}

fn measure_stores(scratch: &Scratch) -> Vec<Row> {
    let mut rows = sealed::rows(scratch);
    rows.extend(saved::rows(scratch));
    rows.extend(kept::archive(scratch));
    rows.push(kept::logs(scratch));
    rows
}

fn map_floor() -> Times {
    repeat(REPEATS, || (), |()| floors::map_turnover(TURNS))
}

fn copy_floor() -> Times {
    let size = COPIED as usize;
    let (from, mut to) = (vec![1_u8; size], vec![0_u8; size]);
    repeat(REPEATS, || (), |()| floors::copy(&from, &mut to))
}

fn floor_row(name: &str, times: Times, count: f64, unit: &'static str) -> Row {
    let (best, median) = times.per_second(count);
    Row {
        name: format!("floor: {name}"),
        best,
        median,
        unit,
        detail: String::new(),
        target: Target::None,
    }
}
