//! Processes by their id.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::program::RunningProgram;
use super::waiting::until;

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    assert!(!pid.is_empty(), "the id of the process is missing");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    })
}

/// The children of all threads of a process.
pub(crate) fn children_of(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.map(|it| fs::read_to_string(it.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Whether a process is a tether: the process that ends one step together with its guard.
pub(crate) fn is_tether(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "windlass-tether\n")
}

/// The guard of a worker: the process that starts its steps.
pub(crate) fn guard_of(worker: u32) -> Pid {
    let mut found = None;
    until("the worker has a guard", || {
        let child = children_of(worker).into_iter().next();
        found = child.and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        found.is_some() || fs::metadata(format!("/proc/{worker}/task")).is_err()
    });
    found.expect("the worker is alive")
}

/// Kills a worker together with its guard: no process is left to end the steps, or to report their end.
pub(crate) fn kill_with_guard(worker: &RunningProgram) {
    let guard = guard_of(worker.pid());
    // A guard that runs would notice that its worker is gone.
    kill_process(guard, Signal::STOP).expect("the guard exists");
    worker.signal(Signal::KILL);
    kill_process(guard, Signal::KILL).expect("the guard exists");
}
