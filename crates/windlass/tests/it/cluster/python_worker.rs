//! `examples/worker.py`: a worker in plain Python, with a real controller and real steps.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::python::python;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The shortest lease duration, so that a silent worker is soon lost.
const SERVE: &str = "serve --no-exec --lease-ttl 2s --token-file token --listen";

const PIPELINE: &str = r#"
name: strange
steps:
  make:
    requires: python
    run: |
      echo made by $WINDLASS_WORKER
      echo "version=7" >> "$WINDLASS_OUTPUT"
    outputs: [version]
  hold:
    needs: make
    requires: python
    env: { VERSION: "${{ steps.make.outputs.version }}" }
    run: |
      echo "$WINDLASS_WORKER $WINDLASS_FENCE" >> held
      until [ -e go ]; do sleep 0.05; done
      echo "let go of $VERSION"
"#;

/// A controller that runs no steps itself, and a folder for everything.
struct PythonWorkerCluster {
    project: ProjectFolder,
    serve: RunningProgram,
    url: String,
}

impl PythonWorkerCluster {
    fn new() -> Self {
        let project = ProjectFolder::with(PIPELINE);
        project.file("token", TOKEN);
        let serve = project.start(&format!("{SERVE} 127.0.0.1:0"));
        let address = || {
            let said = serve.said();
            let line = said.lines().find(|line| line.contains(" leads cluster "))?;
            line.rsplit(' ').next().map(str::to_owned)
        };
        until("the controller answers", || address().is_some());
        let url = address().expect("it has said so");
        Self { project, serve, url }
    }

    /// Kills the controller and starts it again.
    fn restart(self) -> Self {
        let Self { project, serve, url } = self;
        serve.signal(Signal::KILL);
        drop(serve.ended());
        let serve = project.start(&format!("{SERVE} {}", url.trim_start_matches("http://")));
        serve.until_said(" leads cluster ");
        Self { project, serve, url }
    }

    /// A worker of this name.
    fn worker(&self, name: &str) -> RunningProgram {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker.py");
        let found = python("urllib.request", "python3").expect("it was looked for");
        let mut command = self.project.program(found.get_program());
        command.arg(script).args([&self.url, "--name", name, "--label", "python"]);
        command.args(["--token-file", "token"]);
        self.project.start_command(command)
    }

    fn asked(&self, line: &str) -> String {
        self.project.data(&format!("{line} --to {} --token-file token", self.url))
    }

    fn submit(&self) -> String {
        self.asked("submit").trim().to_owned()
    }

    fn show(&self, run: &str) -> Value {
        serde_json::from_str(&self.asked(&format!("show {run} --json"))).expect("it is JSON")
    }

    /// Waits until a run has ended, and returns the attempts of its step `hold`: the worker and the outcome of each.
    fn ended(&self, run: &str) -> Value {
        until("the run has ended", || self.show(run)["status"] != "running");
        let run = self.show(run);
        assert_eq!(run["status"], "succeeded", "{run}");
        let tries = run["steps"][1]["attempts"].as_array().cloned().unwrap_or_default();
        tries.iter().map(|one| json!([one["attempt"], one["worker"], one["outcome"]])).collect()
    }
}

#[test]
fn a_worker_in_python_runs_steps_and_ends_when_its_step_has() {
    if python("urllib.request", "python3").is_none() {
        return;
    }
    let world = PythonWorkerCluster::new();
    let worker = world.worker("py");
    let run = world.submit();
    world.project.until_lines("held", 1);
    worker.signal(Signal::TERM);
    world.project.file("go", "");
    let ended = worker.ended();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(world.ended(&run), json!([[1, "py", "succeeded"]]));
    let logs = world.asked(&format!("logs {run}"));
    assert!(logs.contains("made by py") && logs.contains("let go of 7"), "{logs}");
}

#[test]
fn python_worker_continues_after_losing_its_lease() {
    if python("urllib.request", "python3").is_none() {
        return;
    }
    let world = PythonWorkerCluster::new();
    let first = world.worker("first");
    let run = world.submit();
    world.project.until_lines("held", 1);
    first.signal(Signal::STOP);
    let second = world.worker("second");
    world.project.until_lines("held", 2);
    first.signal(Signal::CONT);
    first.until_said("hold: stopped");
    world.project.file("go", "");
    assert_eq!(world.ended(&run), json!([[1, "first", "lost"], [1, "second", "succeeded"]]));
    second.signal(Signal::TERM);
    assert_eq!(second.ended().code, Some(0));
    let next = world.submit();
    assert_eq!(world.ended(&next), json!([[1, "first", "succeeded"]]), "{}", first.said());
}

#[test]
fn a_controller_that_restarts_is_waited_for() {
    if python("urllib.request", "python3").is_none() {
        return;
    }
    let mut world = PythonWorkerCluster::new();
    let worker = world.worker("py");
    let run = world.submit();
    world.project.until_lines("held", 1);
    world = world.restart();
    world.project.file("go", "");
    assert_eq!(world.ended(&run), json!([[1, "py", "succeeded"]]), "{}", worker.said());
    world = world.restart();
    let next = world.submit();
    assert_eq!(world.ended(&next), json!([[1, "py", "succeeded"]]), "{}", worker.said());
}
