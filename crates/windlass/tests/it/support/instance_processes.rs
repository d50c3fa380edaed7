//! Instances of one run, each a process.

use std::path::PathBuf;
use std::process::Command;

use super::program::{RunningProgram, WINDLASS};
use super::project_folder::ProjectFolder;

/// A step that only instances with the label `big` can run. It writes its process id, and ends when the test says so.
pub(crate) const ELSEWHERE: &str = r"
steps:
  far:
    requires: big
    run: |
      echo $$ >> begun
      until [ -e enough ]; do sleep 0.02; done
";

/// The same step, which every instance can run.
pub(crate) const PATIENT: &str = r"
steps:
  wait:
    run: |
      echo $$ >> begun
      until [ -e enough ]; do sleep 0.02; done
";

/// Instances of one run, in one folder.
pub(crate) struct InstanceProcesses {
    pub(crate) project: ProjectFolder,
    program: PathBuf,
    link: String,
    run_id: String,
}

impl InstanceProcesses {
    /// Instances of `windlass`.
    pub(crate) fn at(link: &str, pipeline: &str) -> Self {
        Self::of(WINDLASS.into(), link, ProjectFolder::with(pipeline))
    }

    /// Instances of another program.
    pub(crate) fn of(program: PathBuf, link: &str, project: ProjectFolder) -> Self {
        Self { project, program, link: link.to_owned(), run_id: "nightly-7".to_owned() }
    }

    /// The same with another id of the run.
    pub(crate) fn called(self, run_id: &str) -> Self {
        Self { run_id: run_id.to_owned(), ..self }
    }

    /// More instances of the same run, in a folder of their own as on another machine.
    pub(crate) fn elsewhere(&self, pipeline: &str) -> Self {
        let run_id = self.run_id.clone();
        Self { run_id, ..Self::of(self.program.clone(), &self.link, ProjectFolder::with(pipeline)) }
    }

    pub(crate) fn command(&self, instance: u32, total: u32, flags: &str) -> Command {
        let mut command = self.project.program(&self.program);
        command.args(["run", "--instance", &instance.to_string(), "--total", &total.to_string()]);
        command.args(["--link", &self.link, "--run-id", &self.run_id]);
        command.args(flags.split_whitespace());
        command
    }

    pub(crate) fn start(&self, instance: u32, total: u32, flags: &str) -> RunningProgram {
        self.project.start_command(self.command(instance, total, flags))
    }

    /// An instance that leads, and that others can join.
    pub(crate) fn leader(&self, total: u32, flags: &str) -> RunningProgram {
        let leader = self.start(0, total, flags);
        leader.until_said("leads");
        leader
    }

    /// An instance that has joined the leader.
    pub(crate) fn worker(&self, instance: u32, total: u32, flags: &str) -> RunningProgram {
        let worker = self.start(instance, total, flags);
        worker.until_said("joins");
        worker
    }

    /// Lets the steps end.
    pub(crate) fn enough(&self) {
        self.project.file("enough", "");
    }
}
