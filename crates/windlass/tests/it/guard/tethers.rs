//! Guards with tethers: starts that never return, and deaths of guard and tether.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::Instant;
use windlass::core::session::StopMode;
use windlass::core::time::Span;
use windlass_worker::GuardLock;
use windlass_worker::guard::{GuardHandle, SpawnFailureCause, StepExit};

use super::deaths::{is_stopped, start_worker};
use super::guarded_steps::{
    GRACE, TETHERS, first_line, guard_with_tethers, has_tethers, run, started, step, tether_of,
};
use super::step_ends::{ends_at, since_start};
use crate::support::processes::is_alive;
use crate::support::waiting::{PATIENCE, block_on, until_true};

/// Holds a lease on a program: an exec of it does not return before the lease is given back, or 45 s have passed.
pub(crate) struct LeasedProgram {
    holder: Child,
    _folder: TempDir,
    program: PathBuf,
}

impl LeasedProgram {
    const HOLDER: &str = r"
import fcntl, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open(sys.argv[1], 'r+')
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()
";

    /// A script, which nothing can execute now.
    pub(crate) fn new(script: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let program = folder.path().join("hangs");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut holder = Command::new("python3")
            .args(["-c", Self::HOLDER])
            .arg(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self { holder, _folder: folder, program }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.program
    }

    /// Waiting starts continue.
    pub(crate) fn give_back(&mut self) {
        // They fail if it has ended.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

impl Drop for LeasedProgram {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Every test of a guard is repeated, in this program started again.
#[test]
fn guard_with_tethers_passes_the_tests_of_a_guard() {
    if has_tethers() {
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["guard::basics", "guard::step_ends", "guard::deaths", "guard::frozen"]);
    // A guard may have more idle tethers later; with tethers, no process is left when worker and guard die.
    again.args(["--skip", "leave_no_descriptor", "--skip", "orphans_of_a_dead_worker_and_guard"]);
    let expected = again.env(TETHERS, "1").output().unwrap();
    let text = String::from_utf8_lossy(&expected.stdout);
    assert!(expected.status.success(), "{text}");
    let ran = text.lines().filter(|line| line.ends_with(" ... ok")).count();
    assert!(ran > 25, "{ran} of them: {text}");
}

#[test]
fn a_start_that_never_returns_obeys_its_deadline_and_holds_up_no_other() {
    block_on(async {
        let guard = guard_with_tethers().await;
        let leased = LeasedProgram::new("touch started");
        let (mut spawn, _output) = step(1, &[leased.path().to_str().unwrap()]);
        let began = Instant::now();
        spawn.deadline = Some(ends_at(since_start() + Span::millis(1500)));
        let hung = guard.spawn(spawn).await.unwrap();
        let (other, _other_output, other_pid) =
            started(&guard, 2, "trap '' TERM; echo $$; while :; do sleep 0.05; done").await;
        other.set_deadline(Some(ends_at(since_start() + Span::millis(700)))).await;
        assert_eq!(other.gone().await, StepExit::Expired);
        assert!(!is_alive(&other_pid));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        let StepExit::NotSpawned(why) = hung.gone().await else { panic!("it never started") };
        assert_eq!(why.cause, SpawnFailureCause::Hung);
        assert!(why.text.contains("the start did not return within 2 s"), "{}", why.text);
        assert!(began.elapsed() >= Duration::from_millis(1400), "{:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert_eq!(run(&guard, step(3, &["true"])).await.0, StepExit::Code(0), "it goes on");
        guard.end().await;
    });
}

#[test]
fn a_start_that_never_returns_can_be_stopped_and_never_runs_later() {
    block_on(async {
        let guard = guard_with_tethers().await;
        let folder = TempDir::new().unwrap();
        let mut leased = LeasedProgram::new("touch started");
        for (fence, how) in [(1, StopMode::Kill), (2, StopMode::Term)] {
            let (mut spawn, _output) = step(fence, &[leased.path().to_str().unwrap()]);
            spawn.dir = Some(folder.path().to_owned());
            let hung = guard.spawn(spawn).await.unwrap();
            hung.stop(how, Span::millis(200)).await;
            // So soon after the order, a start that hangs cannot be told from one in progress.
            assert_eq!(hung.gone().await, StepExit::Signal(9));
        }
        leased.give_back();
        let (exit, _) = run(&guard, step(3, &["true"])).await;
        assert_eq!(exit, StepExit::Code(0));
        assert!(!folder.path().join("started").exists());
        guard.end().await;
    });
}

#[test]
fn a_guard_ends_although_a_start_never_returns() {
    block_on(async {
        let guard = guard_with_tethers().await;
        let leased = LeasedProgram::new("touch started");
        let (spawn, _output) = step(1, &[leased.path().to_str().unwrap()]);
        let hung = guard.spawn(spawn).await.unwrap();
        let began = Instant::now();
        guard.end().await;
        assert_eq!(hung.gone().await, StepExit::Lost);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    });
}

#[test]
fn nothing_of_a_step_outlives_worker_and_guard() {
    block_on(async {
        let (mut worker, pids) = start_worker(&[(TETHERS, "1")]);
        let (guard, steps) = pids.split_first().unwrap();
        let guard = Pid::from_raw(guard.parse().unwrap()).unwrap();
        // Neither must see that the other is gone.
        kill_process(guard, Signal::STOP).unwrap();
        until_true(|| is_stopped(guard.as_raw_nonzero().get().cast_unsigned())).await;
        worker.kill().unwrap();
        let killed = Instant::now();
        kill_process(guard, Signal::KILL).unwrap();
        until_true(|| steps.iter().all(|pid| !is_alive(pid))).await;
        assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
        worker.wait().unwrap();
    });
}

#[test]
fn incarnation_lock_is_held_until_guard_and_tethers_have_ended() {
    block_on(async {
        let folder = TempDir::new().unwrap();
        let (lock, _) = GuardLock::try_take(folder.path()).unwrap().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_windlass"));
        let guard = GuardHandle::start_with_tethers_from(program, Some(lock)).await.unwrap();
        let (guarded, _output, main) = started(&guard, 1, "echo $$; exec sleep 1000").await;
        let (tether, began) = (tether_of(&guard, &main), Instant::now());
        kill_process(tether, Signal::STOP).unwrap();
        until_true(|| is_stopped(tether.as_raw_nonzero().get().cast_unsigned())).await;
        let guard_pid = Pid::from_raw(guard.pid().cast_signed()).unwrap();
        let free = || GuardLock::try_take(folder.path()).unwrap().is_some();
        assert!(!free(), "the guard is there");
        kill_process(guard_pid, Signal::KILL).unwrap();
        // The system continues a stopped tether when its guard ends, because its group is orphaned then. So the lock is
        // watched without a pause: the first moment in which it is free is the one that counts.
        while !free() {
            assert!(began.elapsed() < PATIENCE, "the lock is never free");
        }
        assert!(!is_alive(&main), "the lock was free before the step had ended");
        assert_eq!(guarded.gone().await, StepExit::Lost);
    });
}

#[test]
fn processes_of_a_killed_tether_are_killed_before_its_step_ends() {
    block_on(async {
        let guard = guard_with_tethers().await;
        let script = "echo $$; (setsid env -i sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000";
        let (guarded, output, main) = started(&guard, 1, script).await;
        let (hidden, _output) = first_line(output).await;
        kill_process(tether_of(&guard, &main), Signal::KILL).unwrap();
        assert_eq!(guarded.gone().await, StepExit::Lost);
        assert!(!is_alive(&hidden) && !is_alive(&main));
        assert_eq!(run(&guard, step(2, &["true"])).await.0, StepExit::Code(0), "it goes on");
        guard.end().await;
    });
}

#[test]
fn stopped_tether_does_not_delay_the_deadline_of_its_step() {
    block_on(async {
        let guard = guard_with_tethers().await;
        let (guarded, _output, pid) = started(&guard, 1, "echo $$; exec sleep 1000").await;
        kill_process(tether_of(&guard, &pid), Signal::STOP).unwrap();
        guarded.set_deadline(Some(ends_at(since_start() + Span::millis(500)))).await;
        assert_eq!(guarded.gone().await, StepExit::Expired);
        assert!(!is_alive(&pid));
        guarded.stop(StopMode::Kill, GRACE).await;
        guard.end().await;
    });
}
