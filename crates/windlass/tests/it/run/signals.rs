//! Interrupted runs: Ctrl-C, a closed terminal, a closed pipe, a command in another terminal.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use crate::support::program::FinishedProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

/// A step that ends on SIGTERM, one that needs it, and one that always runs.
const POLITE: &str = r#"
name: polite
steps:
  work: { run: "trap 'echo told >> trace; exit 1' TERM; echo ready >> trace; while :; do sleep 0.02; done" }
  after: { needs: work, run: "echo after >> trace" }
  clean: { needs: work, if: always(), run: "echo clean >> trace" }
"#;

const STUBBORN: &str = r#"
name: stubborn
steps:
  work: { run: "trap '' TERM INT HUP; echo ready >> trace; while :; do sleep 0.02; done" }
  clean: { needs: work, if: always(), run: "echo clean >> trace" }
"#;

fn ended_by(signal: Signal) {
    let project = ProjectFolder::with(POLITE);
    let running = project.start("run");
    project.until_lines("trace", 1);
    running.signal(signal);
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(project.lines("trace"), ["ready", "told", "clean"]);
    assert_eq!(project.status("work"), "cancelled");
    assert_eq!(project.status("after"), "cancelled");
    assert_eq!(project.status("clean"), "succeeded");
    project.until_nothing_is_left(&[]);
}

#[test]
fn ctrl_c_sends_sigterm_and_runs_cleanup() {
    ended_by(Signal::INT);
}

#[test]
fn sigterm_stops_steps_and_runs_cleanup() {
    ended_by(Signal::TERM);
}

#[test]
fn closed_terminal_stops_steps_and_runs_cleanup() {
    ended_by(Signal::HUP);
}

/// As `pkill windlass` does it: to every process with that name, the guard included.
#[test]
fn a_signal_to_all_of_windlass_is_one_to_windlass() {
    let project = ProjectFolder::with(POLITE);
    let running = project.start("run");
    project.until_lines("trace", 1);
    let guards: Vec<String> = project.left().into_iter().filter(|pid| is_guard(pid)).collect();
    assert_eq!(guards.len(), 1, "{guards:?}");
    let guard = guards[0].parse().ok().and_then(Pid::from_raw).expect("it is a number");
    kill_process(guard, Signal::USR1).expect("it is there");
    running.signal(Signal::USR1);
    running.until_said("waits for work");
    kill_process(guard, Signal::TERM).expect("it is there");
    running.signal(Signal::TERM);
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(project.lines("trace"), ["ready", "told", "clean"]);
    project.until_nothing_is_left(&[]);
}

fn is_guard(pid: &str) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim() == "windlass-guard")
}

/// Its leftover processes are ended with it, and are not reported as its failure later.
#[test]
fn few_steps_start_after_a_failure_that_leaves_a_process() {
    let steps = (0..200).map(|at| format!("  s{at}: {{ run: echo >> trace }}"));
    let steps = steps.collect::<Vec<_>>().join("\n");
    let project = ProjectFolder::with(&format!(
        "name: late\ndefaults: {{ kill_grace: 0s }}\nsteps:\n  first: {{ run: 'sleep 1000 & exit 1' }}\n{steps}\n"
    ));
    assert_eq!(project.run("run --jobs 1").code, Some(1));
    let started = project.lines("trace").len();
    assert!(started < 20, "{started} of 200");
}

#[test]
fn steps_behind_a_stopped_step_never_start() {
    let numbers: Vec<String> = (1..=60).map(|n| n.to_string()).collect();
    let project = ProjectFolder::with(&format!(
        "name: busy\nsteps:\n  first: {{ run: 'echo ready >> trace; exec sleep 1000' }}\n  \
         next: {{ matrix: {{ n: [{}] }}, run: 'echo >> started' }}\n",
        numbers.join(", ")
    ));
    let running = project.start("run --jobs 1");
    project.until_lines("trace", 1);
    running.signal(Signal::INT);
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(project.lines("started"), [""; 0]);
    assert_eq!(project.show()["counts"], serde_json::json!({ "cancelled": 61 }));
    project.until_nothing_is_left(&[]);
}

/// Many programs exit with 0 after SIGTERM. That is no success: a rerun must do the missing work.
#[test]
fn step_that_exits_zero_on_sigterm_is_cancelled() {
    let project = ProjectFolder::with(
        r#"
name: graceful
steps:
  work: { run: "trap 'exit 0' TERM; echo begin >> trace; until test -e go; do sleep 0.02; done; echo end >> trace" }
  use: { needs: work, run: "echo use >> trace" }
"#,
    );
    let running = project.start("run");
    project.until_lines("trace", 1);
    assert_eq!(project.run("cancel latest").code, Some(0));
    assert_eq!(running.ended().code, Some(6));
    assert_eq!(
        (project.status("work"), project.status("use")),
        ("cancelled".into(), "cancelled".into())
    );
    project.file("go", "");
    assert_eq!(project.run("rerun latest --failed").code, Some(0));
    assert_eq!(project.lines("trace"), ["begin", "begin", "end", "use"]);
}

#[test]
fn second_ctrl_c_kills_running_steps() {
    let project = ProjectFolder::with(STUBBORN);
    let running = project.start("run");
    project.until_lines("trace", 1);
    let began = Instant::now();
    running.signal(Signal::INT);
    until("the first is heard", || project.show()["status"] == "cancelling");
    running.signal(Signal::INT);
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(project.lines("trace"), ["ready"], "nothing more runs");
    project.until_nothing_is_left(&[]);
}

#[test]
fn step_that_ignores_sigterm_is_killed_after_its_grace() {
    let project = ProjectFolder::with(&STUBBORN.replace("work: {", "work: { kill_grace: 300ms,"));
    let running = project.start("run");
    project.until_lines("trace", 1);
    running.signal(Signal::INT);
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(project.lines("trace"), ["ready", "clean"]);
    project.until_nothing_is_left(&[]);
}

/// Runs a shell line in which `$W` is the program.
fn shell(project: &ProjectFolder, line: &str) -> FinishedProgram {
    let mut command = project.program("sh");
    command.args(["-c", line]).env("W", env!("CARGO_BIN_EXE_windlass"));
    project.start_command(command).ended()
}

#[test]
fn closed_output_does_not_end_the_run() {
    let steps: Vec<String> =
        (0..50).map(|n| format!("  s{n}: {{ run: 'echo {n}; echo {n} >> trace' }}\n")).collect();
    let project = ProjectFolder::with(&format!("name: pipe\nsteps:\n{}", steps.concat()));
    for line in ["run --json", "run --output stream", "show --json", "logs"] {
        let ended = shell(&project, &format!("( $W {line}; echo $? > code ) | head -n 1"));
        assert_eq!(ended.out.lines().count(), 1, "{line}: {ended:?}");
        assert_eq!(project.read("code"), "0\n", "{line}: {ended:?}");
    }
    assert_eq!(project.lines("trace").len(), 100);
}

#[test]
fn another_terminal_cancels_and_watches() {
    let project = ProjectFolder::with(POLITE);
    let running = project.start("run");
    project.until_lines("trace", 1);
    let watching = project.start("watch latest");
    let program = project.run("cancel latest");
    assert_eq!(program.code, Some(0), "{program:?}");
    let ended = running.ended();
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert_eq!(project.lines("trace"), ["ready", "told", "clean"]);
    assert_eq!(watching.ended().code, Some(6));
    let nobody = project.run("cancel latest");
    assert_eq!(nobody.code, Some(5), "{nobody:?}");

    let project = ProjectFolder::with(STUBBORN);
    let running = project.start("run");
    project.until_lines("trace", 1);
    project.data("cancel latest --kill");
    assert_eq!(running.ended().code, Some(6));
    assert_eq!(project.lines("trace"), ["ready"]);
}

#[test]
fn a_folder_with_a_long_name_can_be_cancelled_too() {
    let project = ProjectFolder::with("steps: { none: { run: 'true' } }");
    let deep = project.path().join("long".repeat(40));
    std::fs::create_dir(&deep).expect("it is new");
    std::fs::write(deep.join("windlass.yml"), POLITE).expect("it can be written");
    let within = |line: &str| {
        let mut command = project.command(line);
        command.current_dir(&deep);
        project.start_command(command)
    };
    let running = within("run");
    until("it is ready", || deep.join("trace").exists());
    assert_eq!(within("cancel latest").ended().code, Some(0));
    assert_eq!(running.ended().code, Some(6));
}

#[test]
fn signal_shows_running_and_waiting_steps() {
    let project = ProjectFolder::with(POLITE);
    let running = project.start("run");
    project.until_lines("trace", 1);
    running.signal(Signal::USR1);
    running.until_said("after");
    running.signal(Signal::INT);
    assert_eq!(running.ended().code, Some(130));
}
