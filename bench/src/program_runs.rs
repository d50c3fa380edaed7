//! `windlass run` in normal use: the program itself, real processes, a store on disk; compared with other task runners in
//! alternating runs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::deadline::WAIT_MAX;
use crate::disk::ScratchFolder;
use crate::engine_fleet::now;
use crate::measure::RepeatTimes;
use crate::process::{peak_memory, wait_for_end};
use crate::table::{RowTarget, TableRow};
use crate::task_runners::{StepGraph, TaskRunner, chain, flat, layered, pipeline, windlass};

/// Runs per runner, and of those that take many seconds each.
const TURNS: usize = 5;
const LONG_TURNS: usize = 3;

/// Runs of programs that take milliseconds.
const STARTS: usize = 31;

/// The interval at which the memory of a running process is sampled.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// All rows of this part.
pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    if !TaskRunner::Windlass.is_installed() {
        return vec![absent("run: …", "the program `windlass` is not beside this one: see run.sh")];
    }
    let contest = |graph, turns, against| RunnerContest { graph, turns, against };
    let peers = [TaskRunner::Make, TaskRunner::Ninja];
    let all = [TaskRunner::Make, TaskRunner::Ninja, TaskRunner::Just];
    let flat = contest(flat(10_000), TURNS, TaskRunner::Make).hold(scratch, &peers);
    let layered = contest(layered(10_000), TURNS, TaskRunner::Make).hold(scratch, &peers);
    let short = contest(chain(1_000), TURNS, TaskRunner::Just).hold(scratch, &all);
    let long = contest(chain(10_000), LONG_TURNS, TaskRunner::Just).hold(scratch, &all);
    let mut rows = vec![
        flat.row("run: 10,000 × true, flat", RowTarget::AtMost(1.05)),
        layered.row("run: 10,000 × true, layered", RowTarget::None),
        short.row("run: chain of 1,000 × true", RowTarget::AtMost(1.1)),
        long.row("run: chain of 10,000 × true", RowTarget::AtMost(1.1)),
        bare_chain(scratch, &short),
        growth(&short, &long),
    ];
    rows.extend(starts(scratch));
    rows.push(memory(scratch));
    rows
}

/// A graph, and the runners that are compared on it.
struct RunnerContest {
    graph: StepGraph,
    turns: usize,
    /// The runner whose time counts as 1.
    against: TaskRunner,
}

/// The measured times.
struct ContestResult {
    against: TaskRunner,
    times: Vec<(TaskRunner, Option<RepeatTimes>)>,
}

impl RunnerContest {
    /// Runs all runners alternately, so that a noisy moment affects each of them.
    fn hold(&self, scratch: &ScratchFolder, peers: &[TaskRunner]) -> ContestResult {
        let folder = scratch.empty("contest");
        fs::create_dir(&folder).expect("there is room for a folder");
        let runners: Vec<TaskRunner> =
            [TaskRunner::Windlass].into_iter().chain(peers.to_vec()).collect();
        for runner in &runners {
            runner.write(&self.graph, &folder);
        }
        let mut took: Vec<Vec<Duration>> = vec![Vec::new(); runners.len()];
        let mut takes_part: Vec<bool> =
            runners.iter().map(|runner| runner.is_installed()).collect();
        for _ in 0..self.turns {
            for ((runner, took), takes_part) in runners.iter().zip(&mut took).zip(&mut takes_part) {
                // A new store, so that earlier runs do not affect the measurement.
                drop(fs::remove_dir_all(folder.join(".windlass")));
                let time = takes_part.then(|| runner.time(&folder)).flatten();
                *takes_part = time.is_some();
                took.extend(time);
            }
        }
        let times = took.into_iter().map(|took| (!took.is_empty()).then(|| RepeatTimes::of(took)));
        ContestResult { against: self.against, times: runners.into_iter().zip(times).collect() }
    }
}

impl ContestResult {
    fn of(&self, runner: TaskRunner) -> Option<RepeatTimes> {
        self.times.iter().find(|(who, _)| *who == runner).and_then(|(_, times)| *times)
    }

    /// The ratio to the time of another runner: best to best, median to median.
    fn row(&self, name: &str, target: RowTarget) -> TableRow {
        let detail = self.times.iter().map(|(runner, times)| match times {
            Some(times) => format!("{} {:.2} s", runner.name(), times.best.as_secs_f64()),
            None => format!("{} is not here, or failed", runner.name()),
        });
        let detail = detail.collect::<Vec<_>>().join(", ");
        let (Some(own), Some(other)) = (self.of(TaskRunner::Windlass), self.of(self.against))
        else {
            return absent(name, &detail);
        };
        let ratio = |own: Duration, other: Duration| own.as_secs_f64() / other.as_secs_f64();
        TableRow {
            name: name.to_owned(),
            best: ratio(own.best, other.best),
            median: ratio(own.median, other.median),
            unit: if self.against == TaskRunner::Just { "× just" } else { "× make" },
            detail,
            target,
        }
    }
}

/// The minimum cost of a durable chain: each `true` starts when the end of the one before is on the disk.
fn bare_chain(scratch: &ScratchFolder, chains: &ContestResult) -> TableRow {
    const PAGE: [u8; 4096] = [0; 4096];
    let name = "run: the same, no runner at all and durable";
    let Some(other) = chains.of(TaskRunner::Just) else { return absent(name, "just is not here") };
    let path = scratch.empty("bare");
    fs::write(&path, PAGE).expect("there is room for a file");
    let file = File::options().write(true).open(&path).expect("the file is there");
    let folder = path.parent().expect("a file is in a folder");
    let took = (0..TURNS).map(|_| {
        let began = now();
        for _ in 0..1_000 {
            quiet(&mut Command::new("true"), folder).wait().expect("it can be waited for");
            file.write_all_at(&PAGE, 0).expect("the file takes a page");
            file.sync_data().expect("the disk takes a page");
        }
        began.elapsed()
    });
    let took = RepeatTimes::of(took.collect());
    TableRow {
        name: name.to_owned(),
        best: took.best.as_secs_f64() / other.best.as_secs_f64(),
        median: took.median.as_secs_f64() / other.median.as_secs_f64(),
        unit: "× just",
        detail: format!("{:.2} s; start, wait, fdatasync of a page", took.best.as_secs_f64()),
        target: RowTarget::None,
    }
}

/// The cost of a step in a long chain relative to one in a short chain.
fn growth(short: &ContestResult, long: &ContestResult) -> TableRow {
    let name = "run: a step of the chain, 10,000 / 1,000";
    let (Some(short), Some(long)) = (short.of(TaskRunner::Windlass), long.of(TaskRunner::Windlass))
    else {
        return absent(name, "a chain failed");
    };
    let ratio = |short: Duration, long: Duration| long.as_secs_f64() / short.as_secs_f64() / 10.0;
    TableRow {
        name: name.to_owned(),
        best: ratio(short.best, long.best),
        median: ratio(short.median, long.median),
        unit: "times",
        detail: String::new(),
        target: RowTarget::AtMost(1.2),
    }
}

/// Milliseconds that a run of one step takes beyond its command: in a store of its own, beside 20,000 steps of runs that
/// have just ended, and in a folder that another process leads.
fn starts(scratch: &ScratchFolder) -> Vec<TableRow> {
    let folder = scratch.empty("starts");
    fs::create_dir(&folder).expect("there is room for a folder");
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).expect("the folder takes files");
    };
    write("one.yml", pipeline(&flat(1), "run: \"true\""));
    write("many.yml", pipeline(&flat(10_000), "call: noop"));
    let run = |file: &str| {
        let began = now();
        let mut command = Command::new(windlass());
        command.args(["run", file, "--jobs", "64"]);
        assert!(wait_for_end(quiet(&mut command, &folder), file).status.success());
        began.elapsed()
    };
    let bare = || {
        let began = now();
        wait_for_end(quiet(&mut Command::new("true"), &folder), "true");
        began.elapsed()
    };
    let beyond = |name: &str, before: &dyn Fn()| {
        let mut took: Vec<(Duration, Duration)> = Vec::new();
        for _ in 0..STARTS {
            before();
            took.push((run("one.yml"), bare()));
        }
        extra_time(name, took)
    };
    let nothing = || {};
    let two_runs = || {
        drop(fs::remove_dir_all(folder.join(".windlass")));
        run("many.yml");
        run("many.yml");
    };
    let mut rows = vec![
        beyond("run: one step, beyond its command", &nothing),
        beyond("run: one step, beside 20,000 of runs just ended", &two_runs),
    ];
    drop(fs::remove_dir_all(folder.join(".windlass")));
    write("long.yml", pipeline(&flat(1), "run: echo > leads; sleep 1000"));
    let mut leading = leading_process(&folder);
    rows.push(beyond("run: one step, beside a process that leads", &nothing));
    // Its guard ends the step.
    drop(leading.kill());
    drop(leading.wait());
    rows
}

/// The milliseconds that runs took beyond their commands.
fn extra_time(name: &str, took: Vec<(Duration, Duration)>) -> TableRow {
    let (runs, bares): (Vec<_>, Vec<_>) = took.into_iter().unzip();
    let (runs, bares) = (RepeatTimes::of(runs), RepeatTimes::of(bares));
    let millis = |run: Duration, bare: Duration| run.saturating_sub(bare).as_secs_f64() * 1e3;
    TableRow {
        name: name.to_owned(),
        best: millis(runs.best, bares.best),
        median: millis(runs.median, bares.median),
        unit: "ms",
        detail: format!("`true` alone {:.2} ms", bares.median.as_secs_f64() * 1e3),
        target: RowTarget::AtMost(15.0),
    }
}

/// A process whose run leads the folder until it is killed.
#[expect(clippy::disallowed_methods, reason = "nothing tells when a process has begun to lead")]
fn leading_process(folder: &Path) -> Child {
    let child = quiet(Command::new(windlass()).args(["run", "long.yml"]), folder);
    let began = now();
    while !folder.join("leads").exists() {
        assert!(began.elapsed() < WAIT_MAX, "the process that leads has not begun");
        std::thread::sleep(LOOK_EVERY);
    }
    child
}

/// The peak memory of a run of 10,000 processes.
#[expect(clippy::disallowed_methods, reason = "nothing tells when a process has grown")]
fn memory(scratch: &ScratchFolder) -> TableRow {
    let name = "run: peak RSS of a run of 10,000 steps";
    let folder = scratch.empty("memory");
    fs::create_dir(&folder).expect("there is room for a folder");
    TaskRunner::Windlass.write(&flat(10_000), &folder);
    let mut command = Command::new(windlass());
    command.args(["run", "--jobs", "2", "--output", "none"]);
    let mut child = quiet(&mut command, &folder);
    let (mut most, began) = (None, now());
    while child.try_wait().is_ok_and(|ended| ended.is_none()) {
        assert!(began.elapsed() < WAIT_MAX, "a run of 10,000 steps has not ended");
        most = peak_memory(child.id()).or(most);
        std::thread::sleep(LOOK_EVERY);
    }
    let Some(most) = most else { return absent(name, "there is no /proc") };
    TableRow {
        name: name.to_owned(),
        best: most,
        median: most,
        unit: "MiB",
        detail: "of its process; its guard has 3 more".to_owned(),
        target: RowTarget::AtMost(30.0),
    }
}

fn quiet(command: &mut Command, folder: &Path) -> Child {
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

pub(crate) fn absent(name: &str, why: &str) -> TableRow {
    TableRow {
        name: name.to_owned(),
        best: f64::NAN,
        median: f64::NAN,
        unit: "",
        detail: why.to_owned(),
        target: RowTarget::None,
    }
}
