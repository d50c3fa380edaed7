//! Deaths of worker and guard, and signals that are not for them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::time::Instant;
use windlass_worker::guard::{GuardHandle, GuardLost, StepExit, kill_marked, kill_strays};

use super::guarded_steps::{ALONE, alone, first_line, guard, run, shell, started, step};
use crate::support::processes::is_alive;
use crate::support::waiting::{block_on, until_true};

const WORKER: &str = "guard::deaths::worker_to_be_killed";

/// A step, one that left its group, one that also cleared its environment, one that ignores SIGTERM.
const STEPS: [&str; 4] = [
    "echo $$; exec sleep 1000",
    "(setsid sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 1000\" &' &); exec sleep 1000",
    "(setsid env -i sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000",
    "trap '' TERM INT HUP; echo $$; while :; do sleep 0.05; done",
];

/// Not a test of its own: the worker of the tests below, which is this program started again.
#[test]
fn worker_to_be_killed() {
    if alone(WORKER).is_some() {
        return;
    }
    block_on(async {
        let guard = guard().await;
        let mut running = Vec::new();
        let mut pids = guard.pid().to_string();
        for (fence, script) in (1..).zip(STEPS) {
            let (guarded, output, pid) = started(&guard, fence, script).await;
            running.push((guarded, output));
            pids = format!("{pids} {pid}");
        }
        println!("pids: {pids}");
        guard.over().await;
    });
}

/// The worker, its guard, and a process of each of its steps.
pub(super) fn start_worker(with: &[(&str, &str)]) -> (Child, Vec<String>) {
    let mut worker = alone(WORKER)
        .expect("this is not it")
        .envs(with.iter().copied())
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let pids = lines.map_while(Result::ok).find_map(|line| {
        let (_, pids) = line.split_once("pids: ")?;
        Some(pids.split(' ').map(str::to_owned).collect::<Vec<_>>())
    });
    let pids = pids.expect("the worker tells what it has started");
    assert!(pids.len() == 5 && pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    (worker, pids)
}

#[test]
fn death_of_the_worker_ends_everything() {
    block_on(async {
        let (mut worker, pids) = start_worker(&[]);
        let mut all: Vec<String> = pids.iter().flat_map(|pid| descendants(pid)).collect();
        all.extend(pids);
        worker.kill().unwrap();
        let killed = Instant::now();
        until_true(|| all.iter().all(|pid| !is_alive(pid))).await;
        assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
        worker.wait().unwrap();
    });
}

/// A terminal signals the whole group of the worker, but not the guard's session.
#[test]
fn an_interrupt_of_the_foreground_group_reaches_no_step() {
    block_on(async {
        let (mut worker, pids) = start_worker(&[]);
        let group = Pid::from_child(&worker);
        assert!(pids.iter().all(|pid| group_of(pid) != group.as_raw_nonzero().to_string()));
        // The worker dies of the signal a little later than the other receivers.
        kill_process(group, Signal::STOP).unwrap();
        until_true(|| is_stopped(worker.id())).await;
        kill_process_group(group, Signal::INT).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
        kill_process(group, Signal::CONT).unwrap();
        worker.wait().unwrap();
        until_true(|| pids.iter().all(|pid| !is_alive(pid))).await;
    });
}

/// `pkill windlass` finds the guard too, and so does a service manager. The worker decides what the signal means.
#[test]
fn signals_to_the_guard_are_ignored_and_steps_receive_theirs() {
    block_on(async {
        let guard = guard().await;
        let pid = Pid::from_raw(guard.pid().cast_signed()).unwrap();
        let (step, _output, _) = started(&guard, 1, "echo; exec sleep 1000").await;
        for signal in [Signal::HUP, Signal::INT, Signal::TERM, Signal::USR1] {
            kill_process(pid, signal).unwrap();
            let own = format!("kill -{} $$; sleep 1000", signal.as_raw());
            let (exit, _) = run(&guard, shell(2, &own)).await;
            assert_eq!(exit, StepExit::Signal(signal.as_raw()), "nothing is ignored in a step");
        }
        step.stop(windlass::core::session::StopMode::Term, super::guarded_steps::GRACE).await;
        assert_eq!(step.gone().await, StepExit::Signal(Signal::TERM.as_raw()));
        guard.end().await;
    });
}

#[test]
fn death_of_the_guard_is_noticed_and_its_steps_are_killed() {
    block_on(async {
        let guard = guard().await;
        let mut steps = Vec::new();
        for (fence, script) in (1..).zip(STEPS) {
            // Only a living guard finds a process that has cleared its environment and left its group.
            if !script.contains("env -i") {
                steps.push(started(&guard, fence, script).await);
            }
        }
        kill_process(Pid::from_raw(guard.pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
        for (guarded, ..) in &steps {
            assert_eq!(guarded.exited().await, StepExit::Lost);
            assert_eq!(guarded.gone().await, StepExit::Lost);
        }
        guard.over().await;
        assert!(steps.iter().all(|(_, _, pid)| !is_alive(pid)));
        let spawned = guard.spawn(step(9, &["true"]).0).await;
        assert!(matches!(spawned, Err(GuardLost)));
    });
}

#[test]
fn ending_a_guard_kills_its_steps() {
    block_on(async {
        let first = guard().await;
        let (guarded, _output, pid) = started(&first, 1, STEPS[1]).await;
        first.end().await;
        assert_eq!(guarded.gone().await, StepExit::Lost);
        assert!(!is_alive(&pid));
        let second = guard().await;
        let guard_pid = second.pid().to_string();
        let (guarded, output, pid) = started(&second, 1, STEPS[3]).await;
        drop((second, guarded, output));
        until_true(|| !is_alive(&pid) && !Path::new(&format!("/proc/{guard_pid}")).exists()).await;
    });
}

/// A windlass inside a step: when inner worker and guard die, the outer guard still finds their processes.
#[test]
fn orphans_of_a_guard_inside_a_step_belong_to_the_step() {
    block_on(async {
        let guard = guard().await;
        let (other, _other_output, _) = started(&guard, 1, "echo; exec sleep 1000").await;
        let (mut spawn, output) = shell(2, "exec \"$0\" --exact \"$1\" --nocapture");
        spawn.argv.extend([std::env::current_exe().unwrap().into(), WORKER.into()]);
        spawn.env.push((ALONE.into(), WORKER.into()));
        let guarded = guard.spawn(spawn).await.unwrap();
        let mut output = output;
        let pids: Vec<String> = loop {
            let (line, next) = first_line(output).await;
            output = next;
            if let Some((_, pids)) = line.split_once("pids: ") {
                break pids.split(' ').map(str::to_owned).collect();
            }
        };
        let inner_guard = Pid::from_raw(pids[0].parse().unwrap()).unwrap();
        kill_process(inner_guard, Signal::STOP).unwrap();
        let worker = Pid::from_raw(guarded.pid().unwrap()).unwrap();
        kill_process(worker, Signal::KILL).unwrap();
        // The outer guard may have been faster.
        let _ = kill_process(inner_guard, Signal::KILL);
        assert_eq!(guarded.gone().await, StepExit::Signal(9));
        // The process that cleared its environment may be assigned to the other step as well.
        let unmarked = &pids[3];
        assert!(pids.iter().all(|pid| pid == unmarked || !is_alive(pid)), "{pids:?}");
        other.stop(windlass::core::session::StopMode::Kill, windlass::core::time::Span::ZERO).await;
        other.gone().await;
        assert!(!is_alive(unmarked));
        guard.end().await;
    });
}

#[test]
fn orphans_of_a_former_incarnation_are_found_by_their_environment() {
    block_on(async {
        let marker = format!("WINDLASS_WORKER_ID=test-{}", std::process::id());
        let (name, value) = marker.split_once('=').unwrap();
        let stray = |value: &str| {
            let script = "setsid sleep 1000 & echo $!; exec sleep 1000";
            let mut command = Command::new("sh");
            let child =
                command.args(["-c", script]).env(name, value).stdout(Stdio::piped()).spawn();
            let mut child = child.unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            (child, line.trim().to_owned())
        };
        let (mut ours, left) = stray(value);
        let (mut others, other_left) = stray(&format!("{value}0"));
        // Unlike every other process, a zombie has no environment.
        assert_eq!(kill_strays(&marker).await.unwrap(), 2);
        ours.wait().unwrap();
        assert!(!is_alive(&left) && is_alive(&other_left) && is_alive(&others.id().to_string()));
        assert_eq!(kill_strays(&format!("{marker}0")).await.unwrap(), 2);
        others.wait().unwrap();
        assert_eq!(kill_strays(&marker).await.unwrap(), 0);
    });
}

/// The next start of the worker knows the guard's mark from its state directory.
#[test]
fn orphans_of_a_dead_worker_and_guard_are_found_by_the_mark_of_the_guard() {
    block_on(async {
        let (mut worker, pids) = start_worker(&[]);
        let (guard, steps) = pids.split_first().unwrap();
        let mark = mark_of(&steps[0]);
        kill_process(Pid::from_child(&worker), Signal::STOP).unwrap();
        until_true(|| is_stopped(worker.id())).await;
        kill_process(Pid::from_raw(guard.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert!(steps.iter().all(|pid| is_alive(pid)), "{steps:?}");
        let killed = kill_marked(&mark).await.unwrap();
        assert!(killed >= 3, "{killed}");
        // Only a living guard finds a process that has cleared its environment.
        let (hidden, marked) = (&steps[2], [&steps[0], &steps[1], &steps[3]]);
        assert!(marked.iter().all(|pid| !is_alive(pid)), "{steps:?}");
        kill_process(Pid::from_raw(hidden.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    });
}

/// Returns the mark that the guard gave to a step.
fn mark_of(step: &str) -> String {
    let environment = fs::read_to_string(format!("/proc/{step}/environ")).unwrap();
    let marks = environment.split('\0').find_map(|entry| entry.strip_prefix("WINDLASS_GUARD="));
    let own = marks.unwrap().rsplit(' ').next().unwrap();
    own.split_once(':').unwrap().0.to_owned()
}

#[test]
fn a_program_that_does_not_become_a_guard_is_refused() {
    block_on(async {
        let error = GuardHandle::start_from(Path::new("/bin/true")).await.unwrap_err().to_string();
        assert!(error.contains("/bin/true did not become a guard"), "{error}");
        assert!(GuardHandle::start_from(Path::new("/no/such/program")).await.is_err());
        let guard = guard().await;
        assert_eq!(run(&guard, step(1, &["true"])).await.0, StepExit::Code(0));
        guard.end().await;
    });
}

/// Each thread of it.
pub(super) fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut stats = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("stat")));
    stats.all(|stat| stat.is_ok_and(|stat| stat.contains(") T ")))
}

fn group_of(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(2).unwrap().to_owned()
}

fn descendants(pid: &str) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children: Vec<String> =
        children.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let below: Vec<String> = children.iter().flat_map(|child| descendants(child)).collect();
    [children, below].concat()
}
