//! Wall clocks that are set by a library, which is loaded before libc.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use super::scene::WitnessScene;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const SOURCE: &str = include_str!("../../fixtures/set_clock.c");

/// The library, compiled.
pub(super) struct ClockLibrary {
    folder: TempDir,
}

impl ClockLibrary {
    pub(super) fn compile() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let source = folder.path().join("set_clock.c");
        std::fs::write(&source, SOURCE).expect("there is room for a file");
        let library = Self { folder };
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(library.path()).arg(source);
        assert!(compiler.arg("-ldl").status().is_ok_and(|it| it.success()), "cc compiles it");
        library
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("set_clock.so")
    }

    /// The wall clock of a program that is started with these variables is ahead by this many hours.
    pub(super) fn set(&self, command: &mut Command, hours: i64) {
        command.env("LD_PRELOAD", self.path()).env("SET_CLOCK", (hours * 3600).to_string());
    }
}

impl WitnessScene {
    /// The worker that holds the lock is stopped, and the controller restarts twice. Before it can know that the lease
    /// has ended, the wall clock shows another time.
    pub(super) fn restart_with_clock(&mut self, hours: i64) {
        let library = ClockLibrary::compile();
        self.stop_worker();
        self.cluster.kill();
        self.cluster.restart();
        self.cluster.kill();
        self.cluster.restart_with(|command| library.set(command, hours));
    }
}

const WAITS: &str = "\
steps:
  first: { run: 'echo >> began; until test -e go; do sleep 0.02; done' }
  second: { needs: first, run: 'echo >> done' }
";

/// When the latest run was submitted, in seconds by the clock of the program.
fn submitted(project: &ProjectFolder) -> i64 {
    let run = project.show();
    let at = run["created_at"].as_str().expect("it has a time");
    let seconds = Command::new("date").args(["+%s", "-d", at]).output().expect("there is date");
    String::from_utf8_lossy(&seconds.stdout).trim().parse().expect("a number")
}

/// When a file was written last, in seconds by the clock of the file system.
fn written(file: &Path) -> i64 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(file).expect("it is there").mtime()
}

#[test]
fn run_continues_in_a_folder_last_written_with_a_clock_days_ahead() {
    let (library, project) = (ClockLibrary::compile(), ProjectFolder::with(WAITS));
    let mut ahead = project.command("run");
    library.set(&mut ahead, 3 * 24);
    let mut ahead = project.start_command(ahead);
    project.until_lines("began", 1);
    ahead.signal(Signal::KILL);
    until("it is dead", || ahead.is_over());
    let ahead_by = submitted(&project) - written(&project.path().join("began"));
    // The file is written a moment later.
    let day = 24 * 3600;
    assert_eq!((ahead_by + day / 2) / day, 3, "the program sees the clock that was set");
    project.file("go", "");
    let resumed = project.run("run --resume");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(project.lines("done").len(), 1);
    let next = project.run("run");
    assert_eq!(next.code, Some(0), "{next:?}");
    assert_eq!(project.lines("done").len(), 2);
}
