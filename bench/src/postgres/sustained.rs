//! Sustained load: ten minutes of work, and the costs before and after.

use std::time::Duration;

use super::server::BenchPostgres;
use crate::cluster::{RunningCluster, fan};
use crate::engine_fleet::now;
use crate::measure::percentile;
use crate::table::{RowTarget, TableRow};

const MINUTES: u32 = 10;
const MINUTE: Duration = Duration::from_mins(1);
const STEPS: u32 = 50_000;
const CHAIN: u32 = 1_000;

pub(super) fn rows(cluster: &RunningCluster<'_>, server: &BenchPostgres) -> Vec<TableRow> {
    let before = SustainedCosts::of(cluster);
    let rates: Vec<f64> = (0..MINUTES).map(|_| minute(cluster)).collect();
    let after = SustainedCosts::of(cluster);
    let (first, last) = (rates[0], rates[rates.len() - 1]);
    let events = server.ask("sustained", "SELECT max(position) FROM windlass_journal");
    let each: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
    vec![
        row(
            "rate of the last minute / of the first",
            last / first,
            RowTarget::AtLeast(0.9),
            format!("steps/s by minute: {}", each.join(" ")),
        ),
        row(
            "submitted → handed, p50, after / before",
            after.wait / before.wait,
            RowTarget::AtMost(1.1),
            format!("{:.2} and {:.2} ms; {events} events", before.wait, after.wait),
        ),
        row(
            "hop, after / before",
            after.hop / before.hop,
            RowTarget::AtMost(1.1),
            format!("{:.2} and {:.2} ms", before.hop, after.hop),
        ),
        row(
            "memory of the controller, after / before",
            after.memory / before.memory,
            RowTarget::None,
            format!("{:.0} and {:.0} MiB", before.memory, after.memory),
        ),
    ]
}

/// The costs of single operations.
struct SustainedCosts {
    wait: f64,
    hop: f64,
    memory: f64,
}

impl SustainedCosts {
    fn of(cluster: &RunningCluster<'_>) -> Self {
        let wait = percentile(&cluster.waits(), 50).as_secs_f64() * 1e3;
        Self { wait, hop: cluster.hop(CHAIN).best, memory: cluster.memory_of_controller() }
    }
}

/// Steps per second over a minute of consecutive runs.
fn minute(cluster: &RunningCluster<'_>) -> f64 {
    let pipeline = fan(STEPS);
    let began = now();
    let mut steps = 0.0;
    while began.elapsed() < MINUTE {
        cluster.took(&pipeline);
        steps += f64::from(STEPS);
    }
    steps / began.elapsed().as_secs_f64()
}

fn row(what: &str, value: f64, target: RowTarget, detail: String) -> TableRow {
    let name = format!("postgres: {MINUTES} minutes, {what}");
    TableRow { name, best: value, median: value, unit: "times", detail, target }
}
