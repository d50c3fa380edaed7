//! A store on a full disk: windlass says why it waits, continues when there is space, and can be ended meanwhile.

use std::path::PathBuf;

use rustix::process::Signal;
use windlass_store::conformance::TestDisk;

use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;

const STEPS: &str = r#"
name: full
steps:
  gate: { run: "echo gate >> trace; until test -e go; do sleep 0.02; done; echo through" }
  after: { needs: gate, run: "echo after >> trace" }
  clean: { needs: gate, if: always(), run: "echo clean >> trace" }
"#;

/// A run whose store has no space for the end of its first step; `None` if the test cannot mount a disk.
fn stuck() -> Option<(ProjectFolder, TestDisk, RunningProgram, PathBuf)> {
    let disk = TestDisk::mount("4m")?;
    let project = ProjectFolder::with(STEPS);
    let store = disk.path().join("runs");
    let running = project.start(&format!("run --output stream --store {}", store.display()));
    project.until_lines("trace", 1);
    disk.fill();
    project.file("go", "");
    running.until_said("no space left for the store");
    assert_eq!(project.lines("trace"), ["gate"], "nothing follows from what is not durable");
    Some((project, disk, running, store))
}

#[test]
fn run_on_a_full_disk_reports_the_wait_and_continues_later() {
    let Some((project, disk, running, store)) = stuck() else { return };
    assert!(running.said().contains("resumes by itself"), "{}", running.said());
    disk.make_room();
    let ended = running.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.out.matches("through").count(), 1, "shown once: {}", ended.out);
    let mut trace = project.lines("trace");
    trace.sort();
    assert_eq!(trace, ["after", "clean", "gate"]);
    let log = project.data(&format!("logs latest gate --store {}", store.display()));
    assert_eq!(log, "through\n", "what it printed is there too");
}

#[test]
fn run_on_a_full_disk_can_be_stopped_and_resumed() {
    let Some((project, disk, running, store)) = stuck() else { return };
    running.signal(Signal::TERM);
    let ended = running.ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("no space left"), "{}", ended.err);
    project.until_nothing_is_left(&[]);
    disk.make_room();
    let resumed = project.run(&format!("run --resume --store {}", store.display()));
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let mut trace = project.lines("trace");
    trace.sort();
    assert_eq!(trace, ["after", "clean", "gate", "gate"], "its end was never recorded");
}

#[test]
fn disk_full_from_the_start_is_reported_and_loses_nothing() {
    let Some(disk) = TestDisk::mount("1m") else { return };
    disk.fill();
    let project = ProjectFolder::with(STEPS);
    let ended = project.run(&format!("run --store {}", disk.path().join("runs").display()));
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("space"), "{}", ended.err);
    assert_eq!(project.lines("trace").len(), 0);
}
