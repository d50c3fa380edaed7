//! Machines that are busy, and steps that print without end.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::arrange::Cluster;
use crate::run::arrange::{deep, pause};

/// A process that keeps a core busy until it is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Self(command.spawn().expect("there is a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn no_worker_is_given_up_because_every_core_is_busy() {
    let cluster = Cluster::start("--no-exec");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 1"));
    let run = cluster.submit(
        "name: busy\nsteps:\n  s: { matrix: { n: [1, 2] }, lock: ./n, run: 'until test -e go; do sleep 0.05; done' }\nlocks: { ./n: 2 }\n",
    );
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let busy: Vec<Busy> = (0..2 * cores).map(|_| Busy::start()).collect();
    pause(if deep() { Duration::from_mins(5) } else { Duration::from_secs(20) });
    drop(busy);
    cluster.place.file("go", "");
    let run = cluster.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 2 }), "{run}");
    assert!(!cluster.controller.said().contains("is lost"), "{}", cluster.controller.said());
    for step in run["steps"].as_array().expect("a list") {
        assert_eq!(step["attempts"].as_array().map(Vec::len), Some(1), "{step}");
    }
}

/// How long the controller takes to answer a worker's question, at the worst of a hundred.
fn answers_within(cluster: &Cluster) -> Duration {
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let asked = Instant::now();
            cluster.get("/workers");
            asked.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

#[test]
fn steps_that_print_without_end_delay_no_lease() {
    let cluster = Cluster::start("--no-exec --lease-ttl 3s");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 2"));
    let idle = answers_within(&cluster);
    let run = cluster.submit(
        "name: flood\nsteps:\n  s: { matrix: { n: [1, 2, 3, 4] }, run: 'echo >> began; timeout 6 yes || true' }\n",
    );
    cluster.place.until_lines("began", 4);
    let flooded = answers_within(&cluster);
    let run = cluster.ended(&run);
    println!("answers at p99: {idle:?} idle, {flooded:?} while four steps print without end");
    assert_eq!(run["counts"], json!({ "succeeded": 4 }), "{run}");
    assert!(!cluster.controller.said().contains("is lost"), "{}", cluster.controller.said());
    for step in run["steps"].as_array().expect("a list") {
        assert_eq!(step["attempts"].as_array().map(Vec::len), Some(1), "{step}");
    }
    // On a machine whose cores the steps themselves keep busy a bound on the ratio would be one on the scheduler.
    assert!(flooded < Duration::from_secs(1), "{flooded:?}");
}
