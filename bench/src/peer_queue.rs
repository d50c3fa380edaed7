//! Other queues: a separate program (`bench/queues`), so that its dependencies stay out of this workspace.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::wait_for_end;
use crate::table::{RowTarget, TableRow};

/// A queue that a user could choose instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerQueue {
    pub(crate) name: &'static str,
    /// The command that starts its program.
    pub(crate) program: fn() -> Command,
    /// Jobs of a measurement, with the defaults and tuned: it should take a few seconds.
    pub(crate) jobs: (u32, u32),
    /// The tuned options.
    pub(crate) tuned: &'static str,
}

/// Jobs that are enqueued one at a time.
const SINGLE: u32 = 100;

/// Returns the rows of queues at an address, and the best rate of any of them. A rate counts from the first job
/// enqueued to the last end, as a rate of steps counts from their submission.
pub(crate) fn rows(queues: &[(PeerQueue, String)]) -> (Vec<TableRow>, f64) {
    let mut rows = Vec::new();
    let mut fastest = f64::NAN;
    for (queue, url) in queues {
        let (few, many) = queue.jobs;
        for (what, jobs, how) in [("rate", few, "as it comes"), ("rate-tuned", many, queue.tuned)] {
            let said = queue.ask(what, url, jobs);
            let [rate, drained] = [0, 2].map(|at| said.get(at).copied().unwrap_or(f64::NAN));
            fastest = fastest.max(rate);
            let name = format!("{}: noop jobs, {what}", queue.name);
            let detail = format!("{how}; {jobs} put and drained; drained alone {drained:.0}");
            rows.push(row(name, rate, "jobs/s", detail));
        }
        let said = queue.ask("waits", url, SINGLE);
        let [p50, p99] = [0, 1].map(|at| said.get(at).copied().unwrap_or(f64::NAN));
        let name = format!("{}: put → handler, p50", queue.name);
        rows.push(row(name, p50, "ms", format!("p99 {p99:.2} ms; {SINGLE} jobs")));
    }
    (rows, fastest)
}

/// Returns the rate relative to the fastest of the other queues, tuned or not.
pub(crate) fn compared_with_fastest(own: &TableRow, fastest: f64, target: RowTarget) -> TableRow {
    let site = own.name.split(':').next().unwrap_or_default();
    TableRow {
        name: format!("{site}: noop steps, beside the fastest queue"),
        best: own.best / fastest,
        median: own.median / fastest,
        unit: "times",
        detail: "whatever it was tuned to, put and drained".to_owned(),
        target,
    }
}

/// Returns a path in the build folder, where `bench/run.sh` puts the programs of other queues.
pub(crate) fn built(place: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a file");
    own.with_file_name("..").join(place)
}

impl PeerQueue {
    /// Returns the numbers that its program prints; nothing if the program is missing or has failed.
    fn ask(&self, what: &str, url: &str, jobs: u32) -> Vec<f64> {
        let mut command = (self.program)();
        command.args([what, url, &jobs.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
        let Ok(program) = command.spawn() else { return Vec::new() };
        let said = wait_for_end(program, self.name).stdout;
        let said = String::from_utf8_lossy(&said);
        said.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    }
}

fn row(name: String, value: f64, unit: &'static str, detail: String) -> TableRow {
    let detail = if value.is_nan() { "not here, or failed".to_owned() } else { detail };
    TableRow { name, best: value, median: value, unit, detail, target: RowTarget::None }
}
