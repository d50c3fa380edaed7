//! Stop orders, deadlines, leftover processes, and the resources of the guard itself.

use std::fs;
use std::time::Duration;

use tokio::time::Instant;
use windlass::core::session::{ContactDeadline, StopMode};
use windlass::core::start_queue::StartQueueLimits;
use windlass::core::time::{Span, Time};
use windlass_worker::guard::{GuardHandle, StepExit};

use super::guarded_steps::{alone, first_line, guard, rest, run, shell, started, step};
use crate::support::processes::{children_of, is_alive, is_tether};
use crate::support::waiting::{block_on, until_true};

/// Ignores SIGTERM, and prints a line when it is ready to.
const DEAF: &str = "trap '' TERM; echo $$; while :; do sleep 0.05; done";

#[test]
fn step_that_exits_on_sigterm_is_not_killed() {
    block_on(async {
        let guard = guard().await;
        let script =
            "exec 2>&-; trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done";
        let (guarded, output, _) = started(&guard, 1, script).await;
        guarded.stop(StopMode::Term, Span::secs(30)).await;
        assert_eq!(guarded.gone().await, StepExit::Code(3));
        assert_eq!(rest(output).await, "bye\n");
        guard.end().await;
    });
}

#[test]
fn step_that_ignores_sigterm_is_killed_after_its_grace() {
    block_on(async {
        let guard = guard().await;
        let (guarded, _output, _) = started(&guard, 1, DEAF).await;
        let before = now();
        guarded.stop(StopMode::Term, Span::millis(300)).await;
        assert_eq!(guarded.gone().await, StepExit::Signal(9));
        assert!(before.elapsed() >= Duration::from_millis(290), "{:?}", before.elapsed());
        let (guarded, _output, _) = started(&guard, 2, DEAF).await;
        guarded.stop(StopMode::Term, Span::secs(3000)).await;
        guarded.stop(StopMode::Kill, Span::ZERO).await;
        assert_eq!(guarded.gone().await, StepExit::Signal(9), "hastened");
        guard.end().await;
    });
}

/// The grace period is for the whole step, not for its shell alone.
#[test]
fn children_keep_the_grace_when_their_shell_ends_first() {
    block_on(async {
        let guard = guard().await;
        let child = "exec 2>&-; trap \"sleep 2.5; echo saved; exit\" TERM; echo up; while :; do sleep 0.01; done";
        let script = format!("sh -c '{child}' & wait");
        let (guarded, output, _) = started(&guard, 1, &script).await;
        guarded.stop(StopMode::Term, Span::secs(30)).await;
        assert_eq!(guarded.exited().await, StepExit::Signal(15));
        guarded.gone().await;
        assert_eq!(rest(output).await, "saved\n");
        guard.end().await;
    });
}

#[test]
fn deadline_sends_sigterm_first_and_kills_on_time() {
    block_on(async {
        let guard = guard().await;
        let script = "exec 2>&-; trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done";
        let (spawn, output) = shell(1, script);
        let guarded = guard.spawn(spawn).await.unwrap();
        let (_, output) = first_line(output).await;
        let before = now();
        guarded.set_deadline(Some(ends_at(since_start() + Span::secs(600)))).await;
        guarded.set_deadline(Some(ends_at(since_start() + Span::millis(800)))).await;
        let (asked, output) = first_line(output).await;
        assert_eq!(asked, "asked");
        assert!(before.elapsed() >= Duration::from_millis(380), "{:?}", before.elapsed());
        assert_eq!(guarded.gone().await, StepExit::Expired);
        assert!(before.elapsed() >= Duration::from_millis(780), "{:?}", before.elapsed());
        drop(output);
        let (guarded, _output, _) = started(&guard, 2, "echo up; sleep 1000").await;
        guarded.set_deadline(Some(ends_at(Time::from_millis(1)))).await;
        assert_eq!(guarded.gone().await, StepExit::Expired, "one that has passed");
        guard.end().await;
    });
}

#[test]
fn a_stopped_step_can_be_stopped() {
    block_on(async {
        let guard = guard().await;
        let (guarded, _output, pid) =
            started(&guard, 1, "echo $$; kill -STOP $$; sleep 1000").await;
        let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        until_true(|| stat().contains(") T ")).await;
        guarded.stop(StopMode::Term, Span::secs(1000)).await;
        assert_eq!(guarded.gone().await, StepExit::Signal(15));
        let (guarded, _output, _) = started(&guard, 2, "echo $$; kill -STOP $$").await;
        guarded.stop(StopMode::Kill, Span::ZERO).await;
        assert_eq!(guarded.gone().await, StepExit::Signal(9));
        guard.end().await;
    });
}

/// It moves to the group of a child: signals to its own group do not reach it any more.
const LEAVES_ITS_GROUP: &str = r"
import os, signal, sys
said, says = os.pipe()
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.write(says, b'x')
    signal.pause()
os.read(said, 1)
os.setpgid(0, child)
if sys.argv[1] == 'deaf':
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True:
    signal.pause()
";

#[test]
fn a_main_process_that_leaves_its_group_gets_sigterm_and_sigkill() {
    if !has_python() {
        return;
    }
    block_on(async {
        let guard = guard().await;
        for (fence, hears, signal) in [(1, "hears", 15), (2, "deaf", 9)] {
            let (spawn, output) = step(fence, &["python3", "-c", LEAVES_ITS_GROUP, hears]);
            let guarded = guard.spawn(spawn).await.unwrap();
            let (pid, _output) = first_line(output).await;
            guarded.stop(StopMode::Term, Span::millis(300)).await;
            assert_eq!(guarded.gone().await, StepExit::Signal(signal), "{hears}");
            assert!(!is_alive(&pid));
        }
        guard.end().await;
    });
}

/// In the group, in a session of its own, double-forked, with a cleared environment: all hold the pipe.
#[test]
fn leftover_processes_end_with_their_step() {
    block_on(async {
        let guard = guard().await;
        let sleep = "sleep 1000";
        let ways = [
            format!("{sleep} & echo $!"),
            format!("setsid {sleep} & sleep 0.1; pgrep -P $$ -x sleep"),
            format!("(setsid sh -c 'echo $$; exec {sleep}' &)"),
            format!("(setsid env -i sh -c 'echo $$; exec {sleep}' &)"),
            format!("(setsid sh -c 'trap \"\" TERM HUP; echo $$; {sleep}; {sleep}' &)"),
            format!("setsid sh -c 'setsid sh -c \"setsid {sleep} & echo \\$!\" &' & sleep 0.1"),
        ];
        for (fence, way) in (1..).zip(&ways) {
            let (mut spawn, output) = shell(fence, &format!("{way}\nsleep 0.1; exit 5"));
            spawn.kill_grace = Span::millis(300);
            let guarded = guard.spawn(spawn).await.unwrap();
            assert_eq!(guarded.gone().await, StepExit::Code(5), "{way}");
            let text = rest(output).await;
            let pids: Vec<&str> = text.split_whitespace().collect();
            assert!(!pids.is_empty() && pids.iter().all(|pid| !is_alive(pid)), "{way}: {text}");
        }
        // The last one is reaped after its end was reported.
        until_true(|| children(&guard).is_empty()).await;
        guard.end().await;
    });
}

/// An orphan of one step is left alone while the step runs, and when another one ends.
#[test]
fn orphans_live_as_long_as_their_own_step() {
    block_on(async {
        let guard = guard().await;
        let script = "(setsid sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000";
        let (first, _output, orphan) = started(&guard, 1, script).await;
        run(&guard, shell(2, "(sleep 1000 &)")).await;
        assert!(is_alive(&orphan));
        first.stop(StopMode::Kill, Span::ZERO).await;
        first.gone().await;
        assert!(!is_alive(&orphan));
        guard.end().await;
    });
}

/// Nothing wakes the guard for these processes.
#[test]
fn dead_orphans_are_reaped_while_their_step_runs() {
    block_on(async {
        let guard = guard().await;
        let (_guarded, _output, pid) =
            started(&guard, 1, "for i in 1 2 3 4 5; do (setsid true &); done; echo $$; sleep 1000")
                .await;
        until_true(|| children(&guard) == [&*pid]).await;
        guard.end().await;
        assert!(!is_alive(&pid));
    });
}

/// A process can make its child its own sibling, which is then a child of its parent and not an orphan.
#[test]
fn sibling_of_a_main_process_belongs_to_its_step() {
    let sibling = "import ctypes, os, signal\nflags = 0x8000 | signal.SIGCHLD\nif ctypes.CDLL(None).syscall(56, flags, 0, 0, 0, 0) == 0:\n    os.setsid()\n    print(os.getpid(), flush=True)\n    signal.pause()";
    if cfg!(not(target_arch = "x86_64")) || !has_python() {
        return;
    }
    block_on(async {
        let guard = guard().await;
        // While another step runs, a step from the queue has a thread of its own.
        let (_other, _output, _) = started(&guard, 1, "echo up; exec sleep 1000").await;
        let in_line = StartQueueLimits { below: 4, news_wait: Span::ZERO };
        for (fence, line) in [(2, None), (3, Some(in_line))] {
            let (mut spawn, output) = step(fence, &["python3", "-c", sibling]);
            spawn.queue_limits = line;
            let guarded = guard.spawn(spawn).await.unwrap();
            let (pid, _output) = first_line(output).await;
            assert_eq!(guarded.gone().await, StepExit::Code(0));
            assert!(!is_alive(&pid), "{pid} outlived its step");
        }
        guard.end().await;
    });
}

/// Leaves a process without readable arguments and environment for a while, as during an exec, and prints its process
/// id; nothing if the kernel does not allow it.
const CHANGELING: &str = r"
import ctypes, os, signal, struct, time
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
stat = open('/proc/self/stat').read().rsplit(') ', 1)[1].split()
at = lambda field: int(stat[field - 3])
def show(arguments_end, environment_end):
    code, data, brk = (at(26), at(27)), (at(45), at(46)), (at(47), libc.sbrk(0))
    shown = (at(28), at(48), arguments_end, at(50), environment_end)
    layout = struct.pack('=11QQII', *code, *data, *brk, *shown, 0, 0, 0xffffffff)
    return libc.prctl(35, 14, layout, len(layout), 0) == 0
told, tells = os.pipe()
if os.fork():
    os.close(tells)
    print(os.read(told, 99).decode(), flush=True)
else:
    os.setsid()
    os.write(tells, str(os.getpid() if show(at(48), at(50)) else '').encode())
    os.close(tells)
    time.sleep(0.3)
    show(at(49), at(51))
    signal.pause()
";

/// During an exec a process has no environment that shows its step.
#[test]
fn orphan_that_execs_as_its_step_ends_is_killed() {
    if cfg!(not(target_pointer_width = "64")) || !has_python() {
        return;
    }
    block_on(async {
        let guard = guard().await;
        // Another step runs too: a process without a mark would otherwise be assigned to the only running step.
        let (_other, _output, _) = started(&guard, 1, "echo up; exec sleep 1000").await;
        let (spawn, output) = step(2, &["python3", "-c", CHANGELING]);
        let guarded = guard.spawn(spawn).await.unwrap();
        let (pid, _output) = first_line(output).await;
        assert_eq!(guarded.gone().await, StepExit::Code(0));
        assert!(pid.is_empty() || !is_alive(&pid), "{pid} outlived its step");
        guard.end().await;
    });
}

pub(super) fn has_python() -> bool {
    let version = std::process::Command::new("python3").arg("--version").output();
    version.is_ok_and(|version| version.status.success())
}

/// In a process of its own: other tests open and close descriptors of this one.
#[test]
fn a_thousand_steps_leave_no_descriptor_and_no_zombie() {
    let test = "guard::step_ends::a_thousand_steps_leave_no_descriptor_and_no_zombie";
    if let Some(mut alone) = alone(test) {
        assert!(alone.spawn().unwrap().wait().unwrap().success());
        return;
    }
    block_on(async {
        let guard = guard().await;
        // A thread that reads output is kept for a while, with what it needs.
        run(&guard, step(1, &["true"])).await;
        let counts = || {
            // Only root may look into a process that is not dumpable.
            let count =
                |pid: u32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
            (count(guard.pid()), count(std::process::id()))
        };
        let before = counts();
        for fence in 1..=500 {
            let one = run(&guard, step(2 * fence, &["true"]));
            let other = run(&guard, step(2 * fence + 1, &["no-such-program"]));
            tokio::join!(one, other);
        }
        assert_eq!(counts(), before);
        // The last one is reaped after its end was reported.
        until_true(|| children(&guard).is_empty()).await;
        guard.end().await;
    });
}

#[test]
fn idle_guard_uses_no_cpu() {
    block_on(async {
        let guard = guard().await;
        run(&guard, step(1, &["true"])).await;
        let switches = || {
            let status = fs::read_to_string(format!("/proc/{}/status", guard.pid())).unwrap();
            status.lines().filter(|line| line.contains("ctxt_switches")).collect::<String>()
        };
        // It may still be on its way to sleep.
        until_true(|| {
            fs::read_to_string(format!("/proc/{}/stat", guard.pid())).unwrap().contains(") S ")
        })
        .await;
        let before = switches();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(switches(), before);
        guard.end().await;
    });
}

/// The processes of steps that are children of the guard, or of its tethers.
fn children(guard: &GuardHandle) -> Vec<String> {
    let (tethers, own): (Vec<_>, Vec<_>) =
        children_of(guard.pid()).into_iter().partition(|pid| is_tether(pid));
    let below = tethers.iter().flat_map(|pid| children_of(pid.parse().unwrap()));
    below.chain(own).collect()
}

fn now() -> Instant {
    Instant::now()
}

/// The guard's clock.
/// It is asked 400 ms before.
pub(super) fn ends_at(kills_at: Time) -> ContactDeadline {
    ContactDeadline { asks_at: kills_at - Span::millis(400), kills_at }
}

pub(super) fn since_start() -> Time {
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let (seconds, rest) = uptime.split_once('.').unwrap();
    let seconds: u64 = seconds.parse().unwrap();
    let hundredths: u64 = rest[..2].parse().unwrap();
    Time::from_millis(seconds * 1000 + hundredths * 10)
}
