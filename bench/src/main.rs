//! Measures windlass beside the baselines of the same minute and prints one table.
//!
//! `windlass-bench` prints the table. `windlass-bench only <case> [times]` only runs one case, for a profiler;
//! `windlass-bench only-replay <case> [times]` only replays it. Cases are named as in the table.
//! Each of the following prints the rows of one part: `journal`; `stores` (starts, snapshots, archive and logs);
//! `objects` (files through an object store); `file`
//! (the pipeline file); `sdk_steps` (steps in Rust); `embedded_node` (a complete node); `cluster` (a cluster over HTTP;
//! `cluster long` measures idle workers for a minute); `redis` (workers with Redis as their link); `postgres`
//! (PostgreSQL beside queues on it); `instances` (processes that share a run over Redis); `run` (the program beside
//! other task runners). `postgres long` takes a quarter of an hour for `sustained`, `history` and `failover`, each of
//! which can be named alone.
#![expect(clippy::print_stdout, reason = "the table is what the program is for")]

mod archive_and_logs;
mod baselines;
mod bench_leader;
mod bench_worker;
mod cluster;
mod deadline;
mod disk;
mod embedded_node;
mod engine_cases;
mod engine_fleet;
mod heap;
mod instances;
mod journal;
mod measure;
mod objects;
mod observer;
mod open_snapshot;
mod peer_queue;
mod pipeline_file;
mod plans;
mod postgres;
mod process;
mod program_runs;
mod python_graphs;
mod redis;
mod sample_tree;
mod sdk_steps;
mod sealed_start;
mod table;
mod task_runners;

use baselines::{BaselineGraph, COPIED};
use disk::ScratchFolder;
use engine_cases::{EngineCase, REPEATS, STEPS};
use measure::{RepeatTimes, repeat};
use postgres::LongMeasurement;
use table::{RowTarget, TableRow};

/// Iterations of the map baseline.
const TURNS: u32 = 1_000_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let scratch = ScratchFolder::new();
    match args.first().map(String::as_str) {
        Some("only" | "only-replay") => drive_cases(&engine_cases::engine_cases(), &args),
        Some("journal") => {
            let mut rows = disk::disk_baselines(&scratch);
            rows.extend(measure_journal(&scratch));
            print!("{}", table::render(&rows));
        }
        Some("stores") => print!("{}", table::render(&measure_stores(&scratch))),
        Some("objects") => print!("{}", table::render(&objects::rows(&scratch))),
        Some("typed") => print!("{}", table::render(&sdk_steps::rows())),
        Some("file") => print!("{}", table::render(&pipeline_file::rows())),
        Some("local") => {
            let mut rows = disk::disk_baselines(&scratch);
            rows.extend([embedded_node::throughput(&scratch), embedded_node::hop(&scratch)]);
            print!("{}", table::render(&rows));
        }
        Some("cluster") => {
            let long = args.get(1).is_some_and(|arg| arg == "long");
            let mut rows = disk::disk_baselines(&scratch);
            rows.extend(cluster::rows(&scratch, long));
            print!("{}", table::render(&rows));
        }
        Some("redis") => {
            let mut rows = disk::disk_baselines(&scratch);
            rows.extend(redis::rows(&scratch));
            print!("{}", table::render(&rows));
        }
        Some("postgres") => {
            let mut rows = disk::disk_baselines(&scratch);
            rows.extend(measure_postgres(&scratch, args.get(1).map(String::as_str)));
            print!("{}", table::render(&rows));
        }
        Some("instances") => print!("{}", table::render(&instances::rows(&scratch))),
        Some("run") => {
            let mut rows = disk::disk_baselines(&scratch);
            rows.extend([embedded_node::throughput(&scratch), embedded_node::hop(&scratch)]);
            rows.extend(program_runs::rows(&scratch));
            print!("{}", table::render(&rows));
        }
        Some(_) | None => {
            print!("{}", table::render(&measure_all(&engine_cases::engine_cases(), &scratch)));
        }
    }
}

/// Runs the cases with names that begin with the argument.
fn drive_cases(cases: &[EngineCase], args: &[String]) {
    let wanted = args.get(1).map_or("", String::as_str);
    let times: usize = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(REPEATS);
    for case in cases.iter().filter(|case| case.name.starts_with(wanted)) {
        let took = if args[0] == "only" {
            case.times(times)
        } else {
            let events = engine_fleet::record(&case.workers, &case.plan);
            repeat(times, || (), |()| engine_fleet::replay(&events))
        };
        println!("{}: best {:?}, median {:?}", case.name, took.best, took.median);
    }
}

fn measure_all(cases: &[EngineCase], scratch: &ScratchFolder) -> Vec<TableRow> {
    let layered = cases.iter().find(|case| case.name == "layered");
    let bare = BaselineGraph::of(&layered.expect("there is a layered case").plan);
    let counters = repeat(REPEATS, || (), |()| assert_eq!(bare.drain(), STEPS));
    let (floor, _) = counters.per_second(STEPS.into());
    let mut rows = vec![
        baseline_row("bare DAG counters", counters, f64::from(STEPS), "nodes/s"),
        baseline_row("BTreeMap insert + remove", map_baseline(), f64::from(TURNS), "pairs/s"),
        baseline_row("memory copy", copy_baseline(), f64::from(COPIED) / 1e9, "GB/s"),
    ];
    rows.extend(disk::disk_baselines(scratch));
    for case in cases {
        let target = match case.name {
            "fan-out" => RowTarget::AtLeast(1_000_000.0),
            _ => RowTarget::None,
        };
        rows.push(case.speed(floor, target));
    }
    rows.extend(engine_cases::growth());
    rows.extend(engine_cases::memory());
    rows.extend(cases.iter().map(EngineCase::replay));
    rows.extend(pipeline_file::rows());
    rows.extend(measure_journal(scratch));
    rows.extend(measure_stores(scratch));
    rows.extend(cluster::rows(scratch, false));
    rows.extend(redis::rows(scratch));
    rows.extend(postgres::rows(scratch));
    rows.extend(program_runs::rows(scratch));
    rows
}

/// Prints a part that takes a minute or two, one of the longer measurements, or all of those.
fn measure_postgres(scratch: &ScratchFolder, part: Option<&str>) -> Vec<TableRow> {
    match part {
        None => postgres::rows(scratch),
        Some("long") => postgres::long_rows(scratch, &LongMeasurement::ALL),
        Some(name) => {
            let long = LongMeasurement::named(name).expect("long, history, failover or sustained");
            postgres::long_rows(scratch, &[long])
        }
    }
}

fn measure_journal(scratch: &ScratchFolder) -> Vec<TableRow> {
    let mut rows = journal::rows(scratch);
    rows.push(bench_leader::durable(scratch, 1, RowTarget::AtLeast(100_000.0)));
    rows.push(bench_leader::durable(scratch, 2, RowTarget::None));
    rows.push(bench_leader::cold_start(scratch, "fan-out", plans::fan_out));
    rows.push(bench_leader::cold_start(scratch, "layered", plans::layered));
    rows
}

fn measure_stores(scratch: &ScratchFolder) -> Vec<TableRow> {
    let mut rows = sealed_start::rows(scratch);
    rows.extend(open_snapshot::rows(scratch));
    rows.extend(archive_and_logs::archive(scratch));
    rows.push(archive_and_logs::logs(scratch));
    rows
}

fn map_baseline() -> RepeatTimes {
    repeat(REPEATS, || (), |()| baselines::map_turnover(TURNS))
}

fn copy_baseline() -> RepeatTimes {
    let size = COPIED as usize;
    let (from, mut to) = (vec![1_u8; size], vec![0_u8; size]);
    repeat(REPEATS, || (), |()| baselines::copy(&from, &mut to))
}

fn baseline_row(name: &str, times: RepeatTimes, count: f64, unit: &'static str) -> TableRow {
    let (best, median) = times.per_second(count);
    TableRow {
        name: format!("floor: {name}"),
        best,
        median,
        unit,
        detail: String::new(),
        target: RowTarget::None,
    }
}
