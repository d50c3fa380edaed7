//! A store on a disk without room: windlass says why it waits, goes on when there is room, and can be ended meanwhile.

use std::path::PathBuf;

use rustix::process::Signal;
use windlass_store::conformance::TestDisk;

use super::arrange::{RunFolder, RunningProgram, until};

const STEPS: &str = r#"
name: full
steps:
  gate: { run: "echo gate >> trace; until test -e go; do sleep 0.02; done; echo through" }
  after: { needs: gate, run: "echo after >> trace" }
  clean: { needs: gate, if: always(), run: "echo clean >> trace" }
"#;

/// A run whose store has no room for the end of its first step; nothing where nothing can be mounted.
fn stuck() -> Option<(RunFolder, TestDisk, RunningProgram, PathBuf)> {
    let disk = TestDisk::mount("4m")?;
    let place = RunFolder::with(STEPS);
    let store = disk.path().join("runs");
    let running = place.start(&format!("run --output stream --store {}", store.display()));
    place.until_lines("trace", 1);
    disk.fill();
    place.file("go", "");
    until("it says why it waits", || running.said().contains("no space left for the store"));
    assert_eq!(place.lines("trace"), ["gate"], "nothing follows from what is not durable");
    Some((place, disk, running, store))
}

#[test]
fn run_on_a_full_disk_reports_the_wait_and_continues_later() {
    let Some((place, disk, running, store)) = stuck() else { return };
    assert!(running.said().contains("goes on by itself"), "{}", running.said());
    disk.make_room();
    let ended = running.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.out.matches("through").count(), 1, "shown once: {}", ended.out);
    let mut trace = place.lines("trace");
    trace.sort();
    assert_eq!(trace, ["after", "clean", "gate"]);
    let log = place.data(&format!("logs latest gate --store {}", store.display()));
    assert_eq!(log, "through\n", "what it printed is there too");
}

#[test]
fn run_on_a_full_disk_can_be_stopped_and_resumed() {
    let Some((place, disk, running, store)) = stuck() else { return };
    running.signal(Signal::TERM);
    let ended = running.ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("no space left"), "{}", ended.err);
    place.until_nothing_is_left(&[]);
    disk.make_room();
    let resumed = place.run(&format!("run --resume --store {}", store.display()));
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let mut trace = place.lines("trace");
    trace.sort();
    assert_eq!(trace, ["after", "clean", "gate", "gate"], "its end was never recorded");
}

#[test]
fn disk_full_from_the_start_is_reported_and_loses_nothing() {
    let Some(disk) = TestDisk::mount("1m") else { return };
    disk.fill();
    let place = RunFolder::with(STEPS);
    let ended = place.run(&format!("run --store {}", disk.path().join("runs").display()));
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("space"), "{}", ended.err);
    assert_eq!(place.lines("trace").len(), 0);
}
