//! The rows of a cluster.

use std::time::Duration;

use super::controller::ClusterSite;
use super::idle::idle;
use super::pipelines::{chain, fan, step};
use super::running_cluster::{RunningCluster, SLOTS, WORKERS};
use crate::disk::ScratchFolder;
use crate::embedded_node;
use crate::engine_fleet::now;
use crate::measure::{RepeatTimes, percentile};
use crate::process::BenchProcess;
use crate::table::{RowTarget, TableRow};

const REPEATS: usize = 5;

/// Steps of the throughput, of the fan-out and of the chain.
pub(crate) const MANY: u32 = 50_000;
const FAN: u32 = 10_000;
const CHAIN: u32 = 1_000;

/// Runs of one step, and the pause before each: by then all reports of the previous run have arrived.
const SINGLE: usize = 300;
const REST: Duration = Duration::from_millis(5);

/// The time for which idle workers are measured.
const IDLE_FOR: Duration = Duration::from_secs(20);

/// Returns all rows of this part. With `long` the idle workers are measured for a minute.
pub(crate) fn rows(scratch: &ScratchFolder, long: bool) -> Vec<TableRow> {
    let runtime = embedded_node::runtime();
    let mut rows = Vec::new();
    {
        let cluster = RunningCluster::start(&ClusterSite::on_sqlite(scratch), &runtime);
        rows.push(cluster.throughput());
        rows.extend([embedded_node::throughput(scratch)]);
        rows.extend(cluster.time_to_executor());
        rows.extend(embedded_node::time_to_executor(scratch));
        rows.extend([cluster.hop(CHAIN), embedded_node::hop(scratch)]);
        rows.extend([cluster.fan(), embedded_node::fan(scratch)]);
        rows.push(cluster.memory());
        cluster.end();
    }
    let seconds = if long { Duration::from_mins(1) } else { IDLE_FOR };
    rows.extend(idle(&ClusterSite::on_sqlite(scratch), &runtime, seconds));
    rows
}

impl RunningCluster<'_> {
    fn times(&self, pipeline: &str) -> RepeatTimes {
        RepeatTimes::of((0..REPEATS).map(|_| self.took(pipeline)).collect())
    }

    /// Steps per second.
    pub(crate) fn throughput(&self) -> TableRow {
        let (best, median) = self.times(&fan(MANY)).per_second(MANY.into());
        TableRow {
            name: format!("{}: noop steps, {WORKERS} workers × {SLOTS} slots", self.name),
            best,
            median,
            unit: "steps/s",
            detail: format!("{MANY} steps, durable; {REPEATS} runs"),
            target: RowTarget::AtLeast(self.targets.rate),
        }
    }

    /// The time from a submission until an executor has the attempt.
    pub(crate) fn time_to_executor(&self) -> Vec<TableRow> {
        let name = format!("{}: submitted → handed to the executor", self.name);
        time_to_executor_rows(&name, &self.waits(), self.targets.time_to_executor)
    }

    /// The times that single steps waited for an executor.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        let single = step("only", "", "requires: [observer]");
        let pipeline = format!("steps:\n{single}");
        let handed = |_| {
            let began = self.runtime.block_on(async {
                tokio::time::sleep(REST).await;
                let began = now();
                self.controller.submit(&pipeline).await;
                began
            });
            self.notices.next("a single step") - began
        };
        (0..SINGLE).map(handed).collect()
    }

    /// The time from a step to its dependent, in a chain of this many steps.
    pub(crate) fn hop(&self, steps: u32) -> TableRow {
        let times = self.times(&chain(steps));
        // The last hop is the one to the observer.
        let each = |took: Duration| took.as_secs_f64() * 1e3 / f64::from(steps + 1);
        TableRow {
            name: format!("{}: hop of a noop chain", self.name),
            best: each(times.best),
            median: each(times.median),
            unit: "ms",
            detail: format!("{steps} steps; {REPEATS} runs"),
            target: RowTarget::AtMost(self.targets.hop),
        }
    }

    /// One step, 10,000, one step.
    pub(crate) fn fan(&self) -> TableRow {
        let times = self.times(&fan(FAN));
        TableRow {
            name: format!("{}: fan-out and in of 10,000 noops", self.name),
            best: times.best.as_secs_f64(),
            median: times.median.as_secs_f64(),
            unit: "s",
            detail: format!("{REPEATS} runs"),
            target: RowTarget::AtMost(self.targets.fan),
        }
    }

    /// The peak memory of the worker with the highest peak, after all measurements above.
    pub(crate) fn memory(&self) -> TableRow {
        let most = |of: fn(&BenchProcess) -> f64| self.workers.iter().map(of).fold(0.0, f64::max);
        let controller = &self.controller.process;
        TableRow {
            name: format!("{}: peak RSS of a worker that works", self.name),
            best: most(BenchProcess::peak_memory),
            median: most(BenchProcess::peak_memory),
            unit: "MiB",
            detail: format!(
                "{:.1} at rest; controller {:.1}, at most {:.1}",
                most(BenchProcess::memory),
                controller.memory(),
                controller.peak_memory()
            ),
            target: RowTarget::AtMost(15.0),
        }
    }
}

/// Returns the rows of the time until an executor had an attempt; the target of the median is in milliseconds.
pub(crate) fn time_to_executor_rows(name: &str, took: &[Duration], most: f64) -> Vec<TableRow> {
    let millis = |took: Duration| took.as_secs_f64() * 1e3;
    let best = took.iter().min().copied().unwrap_or_default();
    let row = |percent, target| TableRow {
        name: format!("{name}, p{percent}"),
        best: millis(percentile(took, percent)),
        median: millis(percentile(took, percent)),
        unit: "ms",
        detail: format!("{} runs, the best {:.2} ms", took.len(), millis(best)),
        target,
    };
    vec![row(50, RowTarget::AtMost(most)), row(99, RowTarget::None)]
}
