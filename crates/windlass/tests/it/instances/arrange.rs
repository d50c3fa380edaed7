//! The vocabulary of these tests: instances of one run, each a process.

use std::process::Command;

use crate::run::arrange::{FinishedProgram, RunFolder, RunningProgram, until};

/// A step that only instances with the label `big` can run, and that says where it is.
pub(crate) const ELSEWHERE: &str = r"
steps:
  far:
    requires: big
    run: |
      echo $$ >> begun
      until [ -e enough ]; do sleep 0.02; done
";

/// A step that ends when it is told to, wherever it runs.
pub(crate) const PATIENT: &str = r"
steps:
  wait:
    run: |
      echo $$ >> begun
      until [ -e enough ]; do sleep 0.02; done
";

/// Instances of one run, in one folder.
pub(crate) struct InstanceProcesses {
    pub(crate) place: RunFolder,
    program: String,
    link: String,
    run_id: String,
}

impl InstanceProcesses {
    /// Of `windlass` itself.
    pub(crate) fn at(link: &str, pipeline: &str) -> Self {
        Self::of(env!("CARGO_BIN_EXE_windlass").to_owned(), link, RunFolder::with(pipeline))
    }

    /// Of a program of somebody's own.
    pub(crate) fn of(program: String, link: &str, place: RunFolder) -> Self {
        Self { place, program, link: link.to_owned(), run_id: "nightly-7".to_owned() }
    }

    /// Under another name.
    pub(crate) fn called(self, run_id: &str) -> Self {
        Self { run_id: run_id.to_owned(), ..self }
    }

    /// The same run, on a machine of its own.
    pub(crate) fn elsewhere(&self, pipeline: &str) -> Self {
        let run_id = self.run_id.clone();
        Self { run_id, ..Self::of(self.program.clone(), &self.link, RunFolder::with(pipeline)) }
    }

    pub(crate) fn command(&self, instance: u32, total: u32, flags: &str) -> Command {
        let mut command = self.place.program(&self.program);
        command.args(["run", "--instance", &instance.to_string(), "--total", &total.to_string()]);
        command.args(["--link", &self.link, "--run-id", &self.run_id]);
        command.args(flags.split_whitespace());
        command
    }

    pub(crate) fn start(&self, instance: u32, total: u32, flags: &str) -> RunningProgram {
        self.place.start_command(self.command(instance, total, flags))
    }

    /// An instance that leads, once others can join.
    pub(crate) fn leader(&self, total: u32, flags: &str) -> RunningProgram {
        let leader = self.start(0, total, flags);
        until("instance 0 leads", || leader.said().contains("leads"));
        leader
    }

    /// An instance that works, once it has joined.
    pub(crate) fn worker(&self, instance: u32, total: u32, flags: &str) -> RunningProgram {
        let worker = self.start(instance, total, flags);
        until("it has joined", || worker.said().contains("joins"));
        worker
    }

    /// Steps that wait need not any more.
    pub(crate) fn enough(&self) {
        self.place.file("enough", "");
    }
}

/// It ended with this code, and said this.
#[track_caller]
pub(crate) fn ended_with(ended: &FinishedProgram, code: i32, said: &str) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(ended.err.contains(said), "it does not say `{said}`: {}", ended.err);
}
