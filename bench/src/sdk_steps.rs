//! Steps in Rust, in one process and in memory: the rate, and the overhead of each step.

use std::hint::black_box;
use std::time::Duration;

use windlass::{Context, Pipeline, Result, step};

use crate::embedded_node::runtime;
use crate::measure::RepeatTimes;
use crate::table::{RowTarget, TableRow};
use crate::{engine_fleet, python_graphs};

const STEPS: u32 = 100_000;
const REPEATS: usize = 5;
const SLOTS: u32 = 64;

/// Does nothing, and hands on fifty bytes
#[step(matrix(n = 0..STEPS))]
async fn noop(ctx: &Context) -> Result<String> {
    black_box(ctx);
    Ok("0123456789abcdef0123456789abcdef01234567".to_owned())
}

/// Steps per second of a matrix of functions, and the overhead of a step.
pub(crate) fn rows() -> Vec<TableRow> {
    let pipeline = Pipeline::new("bench").add(noop);
    let mut took = Vec::new();
    for _ in 0..REPEATS {
        took.push(runtime().block_on(async {
            let began = engine_fleet::now();
            let report = pipeline.runner().slots(SLOTS).run().await.expect("it runs");
            assert!(report.succeeded());
            began.elapsed()
        }));
    }
    let planned = planned(&pipeline);
    let times = RepeatTimes::of(took.iter().map(|took| took.saturating_sub(planned)).collect());
    let (best, median) = times.per_second(STEPS.into());
    let each = |took: Duration| took.as_secs_f64() * 1e6 / f64::from(STEPS);
    let (fast, usual) = (each(times.best), each(times.median));
    let detail = format!("memory; less {:.0} ms for the plan", planned.as_secs_f64() * 1e3);
    let mut rows = vec![
        TableRow {
            name: "typed: noop functions, 64 slots".to_owned(),
            best,
            median,
            unit: "steps/s",
            detail,
            target: RowTarget::AtLeast(300_000.0),
        },
        TableRow {
            name: "typed: a step beyond its function".to_owned(),
            best: fast,
            median: usual,
            unit: "µs",
            detail: "two threads".to_owned(),
            target: RowTarget::None,
        },
    ];
    rows.extend(python_graphs::rows());
    rows
}

/// The time to check and plan the pipeline, which is not part of a step.
fn planned(pipeline: &Pipeline) -> Duration {
    let mut took = Vec::new();
    for _ in 0..REPEATS {
        let began = engine_fleet::now();
        black_box(pipeline.plan(&std::collections::BTreeMap::new()).expect("it is sound"));
        took.push(began.elapsed());
    }
    RepeatTimes::of(took).best
}
