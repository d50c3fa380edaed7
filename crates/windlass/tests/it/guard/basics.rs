//! Exit codes, output and environment of a step.

use std::process::Command;

use windlass::core::id::Fence;
use windlass::core::time::Span;
use windlass_worker::ProcessClock;
use windlass_worker::guard::{SpawnFailureCause, StepExit};

use super::guarded_steps::{guard, guard_with_tethers, rest, run, shell, started, step};
use crate::support::processes::is_alive;
use crate::support::waiting::block_on;

#[test]
fn exit_codes_and_signals_are_distinguished() {
    block_on(async {
        let guard = guard().await;
        let ends = ["exit 0", "exit 7", "exit 255", "kill -TERM $$", "kill -KILL $$"];
        let mut exits = Vec::new();
        for (fence, script) in (1..).zip(ends) {
            exits.push(run(&guard, shell(fence, script)).await.0);
        }
        let signals = [StepExit::Signal(15), StepExit::Signal(9)];
        let codes = [0, 7, 255].map(StepExit::Code);
        assert_eq!(exits, [&codes[..], &signals].concat());
        guard.end().await;
    });
}

#[test]
fn start_failure_is_reported_with_its_reason() {
    block_on(async {
        let guard = guard().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data");
        std::fs::write(&file, "no program").unwrap();
        let mut nowhere = step(4, &["true"]);
        nowhere.0.dir = Some(folder.path().join("missing"));
        let mut other_path = step(5, &["true"]);
        other_path.0.env.push(("PATH".into(), folder.path().into()));
        let mut nothing = step(6, &[]);
        nothing.0.argv.clear();
        let steps = [
            step(1, &["no-such-program"]),
            step(2, &["/no/such/program"]),
            step(3, &[file.to_str().unwrap()]),
            nowhere,
            other_path,
            nothing,
            step(7, &["true", &"x".repeat(9 << 20)]),
        ];
        let mut failures = Vec::new();
        for step in steps {
            let (StepExit::NotSpawned(why), output) = run(&guard, step).await else { panic!() };
            assert_eq!(output, "");
            failures.push((why.cause, why.code()));
            assert!(why.text.starts_with("cannot start"), "{}", why.text);
        }
        let not_found = (SpawnFailureCause::NotFound, 127);
        let not_executable = (SpawnFailureCause::NotExecutable, 126);
        let directory = (SpawnFailureCause::Directory, 126);
        let expected =
            [not_found, not_found, not_executable, directory, not_found, not_found, not_executable];
        assert_eq!(failures, expected);
        assert_eq!(run(&guard, step(8, &["true"])).await.0, StepExit::Code(0), "it goes on");
        guard.end().await;
    });
}

#[test]
fn both_outputs_keep_their_order() {
    block_on(async {
        let guard = guard().await;
        let script = "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done";
        let lines = (1..=5).map(|i| format!("out {i}\nerr {i}\n"));
        assert_eq!(run(&guard, shell(1, script)).await, (StepExit::Code(0), lines.collect()));
        guard.end().await;
    });
}

#[test]
fn step_starts_with_its_directory_and_environment() {
    block_on(async {
        let guard = guard().await;
        let folder = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\necho \"$PWD $A $B ${HOME-unset} ${WINDLASS_GUARD_SOCKET-unset}\"";
        let program = folder.path().join("tool");
        std::fs::write(&program, script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).unwrap();
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut step = step(1, &["tool"]);
        step.0.dir = Some(folder.path().to_owned());
        step.0.env =
            [("PATH", &*path), ("A", "a b"), ("B", "é")].map(|(k, v)| (k.into(), v.into())).into();
        step.0.removed = vec!["HOME".into(), "A".into()];
        let expected = format!("{} a b é unset unset\n", folder.path().display());
        assert_eq!(run(&guard, step).await, (StepExit::Code(0), expected));
        guard.end().await;
    });
}

/// No blocked and no ignored signals, only three descriptors, no terminal, a group of its own.
#[test]
fn a_step_inherits_nothing_of_the_guard() {
    block_on(async {
        let guard = guard().await;
        let (exit, status) = run(&guard, step(1, &["cat", "/proc/self/status"])).await;
        assert_eq!(exit, StepExit::Code(0));
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
        };
        assert_eq!(field("SigBlk"), 0);
        // A step inherits the ignored signals of the tests, as everywhere; SIGINT, SIGPIPE, SIGTERM are not ignored.
        let (int, pipe, term) = (1 << 1, 1 << 12, 1 << 14);
        assert_eq!(field("SigIgn") & (int | pipe | term), 0);

        // Signals that the tests themselves were started with do not count.
        let list = "ls /proc/self/fd | wc -l";
        let bare = Command::new("sh").args(["-c", list]).output().unwrap().stdout;
        let script = format!("{list}; cat /proc/self/stat; head -c 1 | wc -c");
        let (_, text) = run(&guard, shell(2, &script)).await;
        let mut lines = text.lines();
        assert_eq!(lines.next().unwrap(), str::from_utf8(&bare).unwrap().trim());
        let stat: Vec<&str> =
            lines.next().unwrap().rsplit_once(") ").unwrap().1.split(' ').collect();
        let (parent, group, session, terminal) = (stat[1], stat[2], stat[3], stat[4]);
        assert_eq!(parent, group, "the shell leads the group");
        assert_eq!((session, terminal), (&*guard.pid().to_string(), "0"));
        assert_eq!(lines.next().unwrap().trim(), "0", "standard input is empty");
        guard.end().await;
    });
}

#[test]
fn guard_ends_with_all_its_steps_when_it_expires() {
    block_on(async {
        for guard in [guard().await, guard_with_tethers().await] {
            let (waits, _output, pid) = started(&guard, 1, "echo $$; exec sleep 1000").await;
            guard.expire_at(Some(ProcessClock::since_boot().now() + Span::secs(100))).await;
            guard.expire_at(None).await;
            let other = run(&guard, shell(2, "exit 3")).await.0;
            assert_eq!(other, StepExit::Code(3), "it has not expired");
            guard.expire_at(Some(ProcessClock::since_boot().now())).await;
            assert_eq!(waits.gone().await, StepExit::Lost);
            assert!(!is_alive(&pid));
            guard.over().await;
        }
    });
}

#[test]
fn outputs_and_exit_codes_of_concurrent_steps_are_not_mixed() {
    block_on(async {
        let guard = guard().await;
        let mut running = Vec::new();
        for fence in 1..=40 {
            let (spawn, output) =
                shell(fence, &format!("sleep 0.0{}; echo {fence}; exit {fence}", fence % 10));
            running.push((guard.spawn(spawn).await.unwrap(), output));
        }
        for (guarded, output) in running {
            let Fence(fence) = guarded.fence();
            assert_eq!(guarded.gone().await, StepExit::Code(i32::try_from(fence).unwrap()));
            assert_eq!(rest(output).await, format!("{fence}\n"));
        }
        guard.end().await;
    });
}
