//! The vocabulary of these tests: a controller in a folder, and the program that asks it.

use rustix::process::Signal;
use serde_json::Value;

use crate::run::arrange::{FinishedProgram, RunFolder, RunningProgram, until};

/// A controller that also runs steps.
pub(super) struct ClientCluster {
    pub(super) place: RunFolder,
    serve: Option<RunningProgram>,
    pub(super) url: String,
}

impl ClientCluster {
    /// A controller beside this `windlass.yml`.
    pub(super) fn with(pipeline: &str) -> Self {
        Self::start(RunFolder::with(pipeline), "")
    }

    /// A controller in a folder, with more flags.
    pub(super) fn start(place: RunFolder, flags: &str) -> Self {
        let serve = place.start(&format!("serve --listen 127.0.0.1:0 --jobs 4 {flags}"));
        let url = hello(&serve);
        Self { place, serve: Some(serve), url }
    }

    /// Runs the program to its end, asking the controller.
    pub(super) fn run(&self, line: &str) -> FinishedProgram {
        self.place.run(&self.asking(line))
    }

    /// What it printed; it must have gone well.
    pub(super) fn data(&self, line: &str) -> String {
        self.place.data(&self.asking(line))
    }

    pub(super) fn begin(&self, line: &str) -> RunningProgram {
        self.place.start(&self.asking(line))
    }

    /// Submits what is in the folder, and returns the run's id.
    pub(super) fn submit(&self) -> String {
        self.data("submit").trim().to_owned()
    }

    /// Waits until a run has ended, and says how.
    pub(super) fn end_of(&self, run: &str) -> String {
        let status = || self.show(run)["status"].as_str().unwrap_or_default().to_owned();
        until("the run has ended", || !["running", "cancelling"].contains(&&*status()));
        status()
    }

    pub(super) fn show(&self, run: &str) -> Value {
        let shown = self.data(&format!("show {run} --json"));
        serde_json::from_str(&shown).expect("it is JSON")
    }

    /// The controller's process is gone from one moment to the next.
    pub(super) fn kill(&mut self) {
        let serve = self.serve.take().expect("it runs");
        serve.signal(Signal::KILL);
        drop(serve.ended());
    }

    /// It is there again, where it was.
    pub(super) fn restart(&mut self) {
        let address = self.url.trim_start_matches("http://");
        let serve = self.place.start(&format!("serve --listen {address} --jobs 4"));
        hello(&serve);
        self.serve = Some(serve);
    }

    fn asking(&self, line: &str) -> String {
        format!("{line} --to {}", self.url)
    }
}

/// Where a controller says that it is.
fn hello(serve: &RunningProgram) -> String {
    let address = || {
        let said = serve.said();
        let line = said.lines().find(|line| line.contains(" leads cluster "))?;
        line.rsplit(' ').next().map(str::to_owned)
    };
    until("the controller answers", || address().is_some());
    address().expect("it has said so")
}
