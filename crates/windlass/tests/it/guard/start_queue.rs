//! Queued steps: they start by themselves, in their order, and only in their turn.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass::core::session::StopMode;
use windlass::core::start_queue::StartQueueLimits;
use windlass::core::time::Span;
use windlass_worker::guard::{GuardHandle, GuardedStep, StepExit};

use super::guarded_steps::{alone, guard, rest, run, shell, started, step};
use crate::support::processes::is_alive;
use crate::support::waiting::{block_on, until};

/// Makes a step wait until nothing else runs.
async fn line_up(guard: &GuardHandle, fence: u64, argv: &[&str]) -> (GuardedStep, PipeReader) {
    line_up_below(guard, 1, (fence, argv)).await
}

/// Makes a step wait until fewer than this many run.
async fn line_up_below(
    guard: &GuardHandle,
    below: u32,
    (fence, argv): (u64, &[&str]),
) -> (GuardedStep, PipeReader) {
    let (mut spawn, output) = step(fence, argv);
    spawn.queue_limits = Some(StartQueueLimits { below, news_wait: Span::millis(20) });
    (guard.spawn(spawn).await.unwrap(), output)
}

#[test]
fn queued_step_starts_when_another_ends() {
    block_on(async {
        let guard = guard().await;
        let (first, _output, _) = started(&guard, 1, "echo up; exec sleep 1000").await;
        let (second, _of_second) = line_up(&guard, 2, &["sleep", "1000"]).await;
        let (third, _of_third) = line_up(&guard, 3, &["true"]).await;
        // This order comes later, so the guard has read the queued steps.
        run(&guard, shell(4, "true")).await;
        assert_eq!((second.pid(), third.pid()), (None, None));
        first.stop(StopMode::Kill, Span::ZERO).await;
        assert!(second.begun().await.is_some(), "its turn came");
        run(&guard, shell(5, "true")).await;
        assert_eq!(third.pid(), None, "one at a time");
        second.stop(StopMode::Kill, Span::ZERO).await;
        assert_eq!(second.gone().await, StepExit::Signal(9));
        assert_eq!(third.gone().await, StepExit::Code(0));
        guard.end().await;
    });
}

#[test]
fn withdrawn_or_stopped_queued_step_never_starts() {
    block_on(async {
        let guard = guard().await;
        let (first, _output, _) = started(&guard, 1, "echo up; exec sleep 1000").await;
        let (second, of_second) = line_up(&guard, 2, &["echo", "two"]).await;
        let (third, of_third) = line_up(&guard, 3, &["echo", "three"]).await;
        let (fourth, of_fourth) = line_up(&guard, 4, &["echo", "four"]).await;
        second.withdraw().await;
        assert_eq!(second.gone().await, StepExit::Withdrawn);
        third.stop(StopMode::Term, Span::secs(1)).await;
        assert_eq!(third.gone().await, StepExit::Withdrawn);
        // It does not end running steps.
        first.withdraw().await;
        run(&guard, shell(5, "true")).await;
        assert_eq!(first.pid().map(|_| fourth.pid()), Some(None));
        first.stop(StopMode::Kill, Span::ZERO).await;
        assert_eq!(fourth.gone().await, StepExit::Code(0));
        let [second, third, fourth] = [of_second, of_third, of_fourth].map(rest);
        assert_eq!(
            (second.await, third.await, fourth.await),
            (String::new(), String::new(), "four\n".to_owned())
        );
        guard.end().await;
    });
}

#[test]
fn queued_step_that_cannot_start_lets_the_next_one_start() {
    block_on(async {
        let guard = guard().await;
        let (first, _output, _) = started(&guard, 1, "echo up; exec sleep 1000").await;
        let (second, _of_second) = line_up(&guard, 2, &["/nowhere/at/all"]).await;
        let (third, _of_third) = line_up(&guard, 3, &["true"]).await;
        first.stop(StopMode::Kill, Span::ZERO).await;
        assert_eq!(third.gone().await, StepExit::Code(0));
        assert!(matches!(second.gone().await, StepExit::NotSpawned(_)));
        assert_eq!(second.begun().await, None);
        guard.end().await;
    });
}

#[test]
fn queued_steps_never_start_after_the_guard_ends() {
    block_on(async {
        let guard = guard().await;
        let (_first, _output, _) = started(&guard, 1, "echo up; exec sleep 1000").await;
        let (second, of_second) = line_up(&guard, 2, &["echo", "two"]).await;
        guard.end().await;
        assert_eq!(second.gone().await, StepExit::Lost);
        assert_eq!(rest(of_second).await, "");
    });
}

const WORKER: &str = "guard::start_queue::worker_with_a_queue";
const RUNNING: u64 = 4;
const QUEUED: u64 = 8;

/// Not a test of its own: the worker of the test below, which is this program started again. Some steps run until a
/// file `go` exists; the queued ones create a file of their own.
#[test]
fn worker_with_a_queue() {
    if alone(WORKER).is_some() {
        return;
    }
    block_on(async {
        let guard = guard().await;
        let mut steps = Vec::new();
        let wait = "while ! [ -e go ]; do sleep 0.01; done";
        for fence in 1..=RUNNING {
            steps.push(line_up_below(&guard, 4, (fence, &["sh", "-c", wait])).await);
        }
        let mut pids = guard.pid().to_string();
        for (step, _) in &steps {
            step.begun().await.unwrap();
            pids = format!("{pids} {}", step.pid().unwrap());
        }
        for fence in RUNNING + 1..=RUNNING + QUEUED {
            let file = format!("started-{fence}");
            steps.push(line_up_below(&guard, 4, (fence, &["touch", &file])).await);
        }
        // This order comes later, so the guard has read the queued steps.
        run(&guard, shell(RUNNING + QUEUED + 1, "true")).await;
        println!("pids: {pids}");
        guard.over().await;
    });
}

/// A spawn thread that continues first must not start the next step, although the watch has seen nothing yet.
#[test]
fn queued_step_does_not_start_if_the_worker_died_while_the_guard_was_stopped() {
    for _ in 0..20 {
        let folder = TempDir::new().unwrap();
        let mut worker = alone(WORKER).expect("this is not it");
        let worker = worker.current_dir(folder.path()).stdout(Stdio::piped());
        let mut worker = worker.spawn().unwrap();
        let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
        let texts = lines
            .map_while(Result::ok)
            .find_map(|line| line.split_once("pids: ").map(|(_, pids)| pids.to_owned()));
        let text = texts.expect("the worker tells what it has started");
        let (guard, steps) = text.split_once(' ').expect("there are steps");
        let stopped = Pid::from_raw(guard.parse().unwrap()).unwrap();
        kill_process(stopped, Signal::STOP).unwrap();
        worker.kill().unwrap();
        worker.wait().unwrap();
        fs::write(folder.path().join("go"), "").unwrap();
        until("the steps have ended", || steps.split(' ').all(|pid| !is_alive(pid)));
        kill_process(stopped, Signal::CONT).unwrap();
        until("the guard has ended", || !is_alive(guard));
        let left = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["go"]);
    }
}

/// The steps, and their expected outcomes in turn.
const KINDS: [(&[&str], i32); 4] = [
    (&["true"], 0),
    (&["sh", "-c", "exit 3"], 3),
    (&["no-such-program"], 127),
    // Leaves a process behind that is not in the group of the step, and is past its `exec`: during an `exec` a process shows no
    // environment by which its step would be known.
    (
        &[
            "sh",
            "-c",
            "setsid sh -c 'kill -STOP $$' & until grep -q 'State:.T' /proc/$!/status; do :; done; echo $!",
        ],
        0,
    ),
];

#[test]
fn many_queued_steps_run_concurrently_to_their_own_ends() {
    block_on(async {
        let guard = guard().await;
        let mut steps = Vec::new();
        for (fence, (argv, code)) in (1..=200).zip(KINDS.into_iter().cycle()) {
            let (guarded, output) = line_up_below(&guard, 3, (fence, argv)).await;
            steps.push((guarded, output, code));
        }
        for (guarded, output, code) in steps {
            let ended = match guarded.gone().await {
                StepExit::Code(code) => code,
                StepExit::NotSpawned(why) => why.code(),
                other => panic!("{other:?}"),
            };
            assert_eq!(ended, code);
            let left = rest(output).await;
            assert!(!left.lines().any(is_alive), "{left} outlived its step");
        }
        guard.end().await;
    });
}

#[test]
fn number_of_running_steps_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("cd {}; touch $$; ls | wc -l; rm $$", folder.path().display());
    block_on(async {
        let guard = guard().await;
        let mut steps = Vec::new();
        for fence in 1..=60 {
            steps.push(line_up_below(&guard, 3, (fence, &["sh", "-c", &script])).await);
        }
        let mut most = 0;
        for (guarded, output) in steps {
            assert_eq!(guarded.gone().await, StepExit::Code(0));
            most = most.max(rest(output).await.trim().parse::<u32>().unwrap());
        }
        assert!((2..=3).contains(&most), "{most}");
        guard.end().await;
    });
}

#[test]
fn step_started_from_the_queue_can_be_stopped() {
    block_on(async {
        let guard = guard().await;
        let mut steps = Vec::new();
        for fence in 1..=8 {
            steps.push(line_up_below(&guard, 8, (fence, &["sleep", "1000"])).await.0);
        }
        for step in &steps {
            // Steps that are being started at this moment count too.
            step.stop(StopMode::Kill, Span::ZERO).await;
        }
        for step in steps {
            assert!(matches!(step.gone().await, StepExit::Signal(9) | StepExit::Withdrawn));
        }
        guard.end().await;
    });
}
