//! A cluster over HTTP: a controller and workers as processes of their own, on loopback, the journal in SQLite.
//!
//! A worker inside the benchmark tells when it is handed a step, so that one clock measures all: the first and the last
//! step of each run are for it, those between for the worker processes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use windlass::link::http::{Client, Credentials, Place, Tcp};

use crate::disk::Scratch;
use crate::fleet::now;
use crate::local;
use crate::measure::{Times, percentile};
use crate::observer::{Hands, Notes, Notices};
use crate::peers::windlass;
use crate::process::{Process, said};
use crate::table::{Row, Target};

const REPEATS: usize = 5;
const WORKERS: u32 = 2;
const SLOTS: u32 = 64;

/// Steps of the throughput, of the fan-out and of the chain.
const MANY: u32 = 50_000;
const FAN: u32 = 10_000;
const CHAIN: u32 = 1_000;

/// Runs of one step, and the rest before each: what the one before leaves to be told is told by then.
const SINGLE: usize = 300;
const REST: Duration = Duration::from_millis(5);

/// Workers that have nothing to do, for how long, and how long they have to come to rest.
const IDLE: u32 = 1_000;
const IDLE_FOR: Duration = Duration::from_secs(20);
const SETTLE: Duration = Duration::from_secs(8);

const WITHIN: Duration = Duration::from_secs(30);

/// All rows of this part. `long` has the idle workers watched for a minute.
pub(crate) fn rows(scratch: &Scratch, long: bool) -> Vec<Row> {
    let runtime = local::runtime();
    let mut rows = Vec::new();
    {
        let cluster = Cluster::start(scratch, &runtime);
        rows.push(cluster.throughput());
        rows.extend([local::throughput(scratch)]);
        rows.extend(cluster.handed());
        rows.extend(local::handed(scratch));
        rows.extend([cluster.hop(), local::hop(scratch)]);
        rows.extend([cluster.fan(), local::fan(scratch)]);
        rows.push(cluster.memory());
        runtime.block_on(cluster.hands.end());
    }
    let seconds = if long { Duration::from_mins(1) } else { IDLE_FOR };
    rows.extend(idle(scratch, &runtime, seconds));
    rows
}

/// A controller that answers.
struct Controller {
    process: Process,
    place: Place,
    client: Client,
}

impl Controller {
    fn start(scratch: &Scratch) -> Self {
        let folder = scratch.empty("cluster");
        std::fs::create_dir(&folder).expect("there is room for a folder");
        let mut command = Command::new(windlass());
        command.args(["serve", "--no-exec", "--listen", "127.0.0.1:0"]).current_dir(&folder);
        command.arg("--store").arg(format!("sqlite:{}", folder.join("store").display()));
        let (process, errors) = Process::start(&mut command);
        let place = said(errors, " on ").parse().expect("it says where it listens");
        let client = Client::new(Arc::new(Tcp), Credentials::default());
        Self { process, place, client }
    }

    /// A worker process.
    fn worker(&self, scratch: &Scratch, number: u32) -> Process {
        let state = scratch.empty(&format!("worker-{number}"));
        std::fs::create_dir(&state).expect("there is room for a folder");
        let mut command = Command::new(windlass());
        command.args(["worker", "--join", &self.place.to_string(), "--label", "crew"]);
        command.args(["--slots", &SLOTS.to_string(), "--name", &format!("crew-{number}")]);
        command.args(["--label", &format!("crew-{number}")]).current_dir(&state);
        let (process, errors) = Process::start(command.arg("--state").arg(&state));
        said(errors, " joins ");
        process
    }

    async fn submit(&self, pipeline: &str) {
        let body = BTreeMap::from([("text", pipeline)]);
        let answered = self.client.post(&self.place, "/runs", &body, WITHIN).await;
        answered.expect("the run is taken");
    }
}

/// A controller, its workers, and one that notes when it is handed a step.
struct Cluster<'a> {
    runtime: &'a Runtime,
    // Workers end before their controller does.
    workers: Vec<Process>,
    hands: Hands,
    notices: Notices,
    controller: Controller,
}

impl<'a> Cluster<'a> {
    /// A cluster in which everybody has joined and done something.
    fn start(scratch: &Scratch, runtime: &'a Runtime) -> Self {
        let controller = Controller::start(scratch);
        let workers = (0..WORKERS).map(|number| controller.worker(scratch, number)).collect();
        let (notes, notices) = Notes::new();
        let mut hands = Hands::new();
        let _inside = runtime.enter();
        hands.join(&controller.place, "observer", Arc::new(notes));
        let cluster = Self { runtime, workers, hands, notices, controller };
        let each = |number| format!("crew-{number}");
        let warm: Vec<String> = (0..WORKERS).map(each).collect();
        let steps: String =
            warm.iter().map(|it| step(it, "first", &format!("requires: [{it}]"))).collect();
        cluster.took(&between(&steps, &warm.join(", ")));
        cluster
    }

    /// From when the observer is handed the first step of a run until it is handed the last.
    fn took(&self, pipeline: &str) -> Duration {
        self.runtime.block_on(self.controller.submit(pipeline));
        let began = self.notices.next();
        self.notices.next() - began
    }

    fn times(&self, pipeline: &str) -> Times {
        Times::of((0..REPEATS).map(|_| self.took(pipeline)).collect())
    }

    fn throughput(&self) -> Row {
        let (best, median) = self.times(&fan(MANY)).per_second(MANY.into());
        Row {
            name: format!("cluster: noop steps, {WORKERS} workers × {SLOTS} slots"),
            best,
            median,
            unit: "steps/s",
            detail: format!("{MANY} steps, durable; {REPEATS} runs"),
            target: Target::AtLeast(25_000.0),
        }
    }

    /// From a submission until an executor has the attempt.
    fn handed(&self) -> Vec<Row> {
        let single = step("only", "", "requires: [observer]");
        let pipeline = format!("steps:\n{single}");
        let handed = |_| {
            let began = self.runtime.block_on(async {
                tokio::time::sleep(REST).await;
                let began = now();
                self.controller.submit(&pipeline).await;
                began
            });
            self.notices.next() - began
        };
        let took: Vec<Duration> = (0..SINGLE).map(handed).collect();
        handed_rows("cluster: submitted → handed to the executor", &took)
    }

    fn hop(&self) -> Row {
        let mut steps = step("s0", "first", "requires: [crew]");
        for at in 1..CHAIN {
            steps += &step(&format!("s{at}"), &format!("s{}", at - 1), "requires: [crew]");
        }
        let times = self.times(&between(&steps, &format!("s{}", CHAIN - 1)));
        // The last of the hops is that to the observer.
        let each = |took: Duration| took.as_secs_f64() * 1e3 / f64::from(CHAIN + 1);
        Row {
            name: "cluster: hop of a noop chain".to_owned(),
            best: each(times.best),
            median: each(times.median),
            unit: "ms",
            detail: format!("{CHAIN} steps; {REPEATS} runs"),
            target: Target::AtMost(0.8),
        }
    }

    fn fan(&self) -> Row {
        let times = self.times(&fan(FAN));
        Row {
            name: "cluster: fan-out and in of 10,000 noops".to_owned(),
            best: times.best.as_secs_f64(),
            median: times.median.as_secs_f64(),
            unit: "s",
            detail: format!("{REPEATS} runs"),
            target: Target::AtMost(0.6),
        }
    }

    /// The most memory of the worker that had most, behind all of the above.
    fn memory(&self) -> Row {
        let most = |of: fn(&Process) -> f64| self.workers.iter().map(of).fold(0.0, f64::max);
        let controller = &self.controller.process;
        Row {
            name: "cluster: peak RSS of a worker that works".to_owned(),
            best: most(Process::peak),
            median: most(Process::peak),
            unit: "MiB",
            detail: format!(
                "{:.1} at rest; controller {:.1}, at most {:.1}",
                most(Process::memory),
                controller.memory(),
                controller.peak()
            ),
            target: Target::AtMost(15.0),
        }
    }
}

/// What a controller needs for workers that do nothing.
fn idle(scratch: &Scratch, runtime: &Runtime, seconds: Duration) -> Vec<Row> {
    let controller = Controller::start(scratch);
    let mut hands = Hands::new();
    let (notes, _) = Notes::new();
    let notes: Arc<Notes> = Arc::new(notes);
    let used = runtime.block_on(async {
        for _ in 0..IDLE {
            hands.join(&controller.place, "idle", Arc::clone(&notes) as _);
        }
        tokio::time::sleep(SETTLE).await;
        let before = controller.process.seconds();
        tokio::time::sleep(seconds).await;
        controller.process.seconds() - before
    });
    let (cpu, memory) = (used * 100.0 / seconds.as_secs_f64(), controller.process.memory());
    let detail = format!("over {} s", seconds.as_secs());
    let more = format!("at most {:.1} so far", controller.process.peak());
    let row = |what: &str, value, unit, detail, most| Row {
        name: format!("cluster: {IDLE} idle workers, {what}"),
        best: value,
        median: value,
        unit,
        detail,
        target: Target::AtMost(most),
    };
    runtime.block_on(hands.end());
    vec![
        row("CPU of the controller", cpu, "% of a core", detail, 5.0),
        row("RSS of the controller", memory, "MiB", more, 64.0),
    ]
}

/// The rows of how long it took until an executor had an attempt.
pub(crate) fn handed_rows(name: &str, took: &[Duration]) -> Vec<Row> {
    let millis = |took: Duration| took.as_secs_f64() * 1e3;
    let best = took.iter().min().copied().unwrap_or_default();
    let row = |percent, target| Row {
        name: format!("{name}, p{percent}"),
        best: millis(percentile(took, percent)),
        median: millis(percentile(took, percent)),
        unit: "ms",
        detail: format!("{} runs, the best {:.2} ms", took.len(), millis(best)),
        target,
    };
    vec![row(50, Target::AtMost(1.0)), row(99, Target::None)]
}

/// Steps that do nothing, between two of the observer.
fn fan(steps: u32) -> String {
    let axis = |count: u32| (0..count).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
    let matrix = format!("matrix: {{ a: [{}], b: [{}] }}", axis(100), axis(steps / 100));
    between(&step("many", "first", &format!("requires: [crew], {matrix}")), "many")
}

fn between(steps: &str, last: &str) -> String {
    let first = step("first", "", "requires: [observer]");
    let last = step("last", last, "requires: [observer]");
    format!("steps:\n{first}{steps}{last}")
}

fn step(name: &str, needs: &str, more: &str) -> String {
    let mut text = String::new();
    let needs = if needs.is_empty() { String::new() } else { format!(", needs: [{needs}]") };
    writeln!(text, "  {name}: {{ call: noop, {more}{needs} }}").expect("a string takes all");
    text
}
