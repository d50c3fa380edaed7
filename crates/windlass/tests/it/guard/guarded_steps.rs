//! Guards, and steps that they start.

use std::ffi::OsString;
use std::io::{PipeReader, Read, pipe};
use std::path::Path;
use std::process::Command;

use rustix::process::Pid;
use windlass::core::id::Fence;
use windlass::core::time::Span;
use windlass_worker::guard::{GuardHandle, GuardedStep, SpawnRequest, StepExit};

use crate::support::processes::{children_of, is_tether};
use crate::support::program::WINDLASS;

pub(super) const GRACE: Span = Span::secs(10);

/// Set for this test program if its guards are to have tethers.
pub(super) const TETHERS: &str = "WINDLASS_TEST_TETHERS";

pub(super) async fn guard() -> GuardHandle {
    if has_tethers() {
        return guard_with_tethers().await;
    }
    GuardHandle::start_from(Path::new(WINDLASS)).await.unwrap()
}

pub(super) async fn guard_with_tethers() -> GuardHandle {
    let program = Path::new(WINDLASS);
    GuardHandle::start_with_tethers_from(program, None).await.unwrap()
}

pub(super) fn has_tethers() -> bool {
    std::env::vars().any(|(name, _)| name == TETHERS)
}

/// The tether of a guard that started this main process. Others wait for a step.
pub(super) fn tether_of(guard: &GuardHandle, main: &str) -> Pid {
    let mut tethers = children_of(guard.pid()).into_iter().filter(|pid| is_tether(pid));
    let pid =
        tethers.find(|pid| children_of(pid.parse().unwrap()).iter().any(|child| child == main));
    Pid::from_raw(pid.unwrap().parse().unwrap()).unwrap()
}

/// A step and the reading end of its output.
pub(super) fn step(fence: u64, argv: &[&str]) -> (SpawnRequest, PipeReader) {
    let (reader, writer) = pipe().unwrap();
    let spawn = SpawnRequest {
        fence: Fence(fence),
        argv: argv.iter().map(OsString::from).collect(),
        env: Vec::new(),
        removed: Vec::new(),
        dir: None,
        kill_grace: GRACE,
        deadline: None,
        queue_limits: None,
        output: writer.into(),
    };
    (spawn, reader)
}

pub(super) fn shell(fence: u64, script: &str) -> (SpawnRequest, PipeReader) {
    step(fence, &["sh", "-c", script])
}

/// Starts a script and waits for its first line.
pub(super) async fn started(
    guard: &GuardHandle,
    fence: u64,
    script: &str,
) -> (GuardedStep, PipeReader, String) {
    let (spawn, output) = shell(fence, script);
    let guarded = guard.spawn(spawn).await.unwrap();
    let (line, output) = first_line(output).await;
    (guarded, output, line)
}

pub(super) async fn first_line(mut output: PipeReader) -> (String, PipeReader) {
    let read = move || {
        let (mut line, mut byte) = (String::new(), [0]);
        while output.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0].into());
        }
        (line, output)
    };
    tokio::task::spawn_blocking(read).await.unwrap()
}

/// Returns the output that is still to come.
pub(super) async fn rest(mut output: PipeReader) -> String {
    let read = move || {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text
    };
    tokio::task::spawn_blocking(read).await.unwrap()
}

/// Runs a step to its very end.
pub(super) async fn run(
    guard: &GuardHandle,
    (spawn, output): (SpawnRequest, PipeReader),
) -> (StepExit, String) {
    let guarded = guard.spawn(spawn).await.unwrap();
    let exit = guarded.gone().await;
    assert_eq!(guarded.exited().await, exit);
    (exit, rest(output).await)
}

/// Names the test that a process was started for.
pub(super) const ALONE: &str = "WINDLASS_TEST_ALONE";

/// The command that starts this test program again for one test; `None` inside it.
pub(super) fn alone(test: &str) -> Option<Command> {
    if std::env::vars().any(|(name, value)| name == ALONE && value == test) {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(ALONE, test);
    Some(command)
}
