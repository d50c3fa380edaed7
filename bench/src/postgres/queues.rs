//! Queues that a user could pick instead, on the same server: programs of their own (`bench/queues`), since what they
//! depend on is nobody's business here.

use std::path::PathBuf;
use std::process::Command;

use super::server::Server;
use crate::table::{Row, Target};

/// Jobs of a measurement: the tuned ones have a few seconds to do, and so have the others.
const MANY: u32 = 50_000;
const FEW: u32 = 10_000;
const SINGLE: u32 = 100;

/// Somebody else's queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    program: &'static str,
    name: &'static str,
    tuned: &'static str,
}

const QUEUES: [Queue; 2] = [
    Queue {
        program: "graphile",
        name: "graphile_worker",
        tuned: "24 jobs, local queue of 500, completed in batches",
    },
    Queue { program: "apalis", name: "apalis", tuned: "batches of 500, no locks, no results" },
];

/// The rows of all that are here, and the best rate of any of them.
pub(super) fn rows(server: &Server) -> (Vec<Row>, f64) {
    let mut rows = Vec::new();
    let mut fastest = f64::NAN;
    for queue in QUEUES {
        let url = server.database(queue.program);
        let ran = [("rate", FEW, "as it comes"), ("rate-tuned", MANY, queue.tuned)];
        for (what, jobs, detail) in ran {
            let said = queue.ask(what, &url, jobs);
            let rate = said.first().copied().unwrap_or(f64::NAN);
            fastest = fastest.max(rate);
            let name = format!("{}: noop jobs, {what}", queue.name);
            rows.push(row(
                name,
                rate,
                "jobs/s",
                format!("{detail}; {jobs} put, and drained for 30 s at most"),
            ));
        }
        let said = queue.ask("waits", &url, SINGLE);
        let [p50, p99] = [0, 1].map(|at| said.get(at).copied().unwrap_or(f64::NAN));
        let name = format!("{}: put → handler, p50", queue.name);
        rows.push(row(name, p50, "ms", format!("p99 {p99:.2} ms; {SINGLE} jobs")));
    }
    (rows, fastest)
}

impl Queue {
    /// The numbers that its program prints; nothing if it is not here, or failed.
    fn ask(self, what: &str, url: &str, jobs: u32) -> Vec<f64> {
        let mut command = Command::new(programs().join(self.program));
        let Ok(output) = command.args([what, url, &jobs.to_string()]).output() else {
            return Vec::new();
        };
        let said = String::from_utf8_lossy(&output.stdout);
        said.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    }
}

/// Where `bench/run.sh` builds them.
fn programs() -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a file");
    own.with_file_name("../queues/release")
}

fn row(name: String, value: f64, unit: &'static str, detail: String) -> Row {
    let detail = if value.is_nan() { "not here, or failed".to_owned() } else { detail };
    Row { name, best: value, median: value, unit, detail, target: Target::None }
}
