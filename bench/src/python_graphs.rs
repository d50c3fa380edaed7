//! A graph of functions, compared with the same graph in Python: Dask and Ray, each with two processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use windlass::{Cells, Pipeline, Result, step};

use crate::embedded_node::runtime;
use crate::engine_fleet;
use crate::measure::RepeatTimes;
use crate::program_runs::absent;
use crate::table::{RowTarget, TableRow};

const STEPS: u32 = 10_000;
const REPEATS: usize = 3;

/// Does nothing and returns fifty bytes
#[step(matrix(n = 0..STEPS))]
async fn spread() -> Result<String> {
    Ok("0123456789abcdef0123456789abcdef01234567".to_owned())
}

/// Takes all of them
#[step]
async fn gather(spread: Cells<Spread>) -> Result<usize> {
    Ok(spread.outputs().count())
}

/// Steps per second of a fan-out with its join, the plan included.
pub(crate) fn rows() -> Vec<TableRow> {
    let mut rows = vec![row("windlass", &windlass_times(), "plan included")];
    rows.extend(["dask", "ray"].map(|library| match python_times(library) {
        Some(took) => row(library, &took, "two processes; once before, to warm up"),
        None => absent(&name(library), "it is not in target/peers/python, or failed: see run.sh"),
    }));
    rows
}

fn name(library: &str) -> String {
    format!("typed: fan-out of 10,000 and a join, {library}")
}

fn row(library: &str, took: &[Duration], detail: &str) -> TableRow {
    let (best, median) = RepeatTimes::of(took.to_vec()).per_second(f64::from(STEPS) + 1.0);
    let (detail, target) = (detail.to_owned(), RowTarget::None);
    TableRow { name: name(library), best, median, unit: "steps/s", detail, target }
}

fn windlass_times() -> Vec<Duration> {
    let pipeline = Pipeline::new("graph").add(spread).add(gather);
    let run = |_| {
        runtime().block_on(async {
            let began = engine_fleet::now();
            let report = pipeline.runner().slots(2).run().await.expect("it runs");
            let took = began.elapsed();
            assert_eq!(report.get(gather).ok(), Some(STEPS as usize));
            took
        })
    };
    (0..REPEATS).map(run).collect()
}

/// The times in Python; `None` if the library is not installed.
fn python_times(library: &str) -> Option<Vec<Duration>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(python(root));
    command.arg(root.join("graphs.py")).arg(library);
    command.args([STEPS.to_string(), REPEATS.to_string()]);
    let ended = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let seconds = |line: &str| line.trim().parse().ok().map(Duration::from_secs_f64);
    let took: Vec<Duration> =
        String::from_utf8_lossy(&ended.stdout).lines().filter_map(seconds).collect();
    (ended.status.success() && took.len() == REPEATS).then_some(took)
}

fn python(root: &Path) -> PathBuf {
    root.join("../target/peers/python/bin/python")
}
