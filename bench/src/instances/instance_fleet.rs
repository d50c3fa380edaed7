//! Instances of one run.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::disk::ScratchFolder;
use crate::process::wait_for_end;
use crate::task_runners::windlass;

/// The working folders of the instances, one each.
#[derive(Debug)]
pub(super) struct InstanceFleet {
    folder: PathBuf,
    link: String,
    /// The number of runs so far, which gives each run another name.
    runs: Cell<u32>,
}

impl InstanceFleet {
    pub(super) fn new(scratch: &ScratchFolder, link: String) -> Self {
        Self { folder: scratch.empty("instances"), link, runs: Cell::new(0) }
    }

    /// The duration of a pipeline with this many instances and slots; all instances but the first have the label `far`.
    pub(super) fn took(&self, pipeline: &str, instances: u32, slots: u32) -> Duration {
        self.runs.set(self.runs.get() + 1);
        drop(fs::remove_dir_all(&self.folder));
        let others: Vec<Child> =
            (1..instances).map(|number| self.start(pipeline, (number, instances), slots)).collect();
        let leader = self.start(pipeline, (0, instances), slots);
        for child in others.into_iter().chain([leader]) {
            let ended = wait_for_end(child, "an instance").status;
            assert!(ended.success(), "an instance ended with {ended}");
        }
        self.wall()
    }

    fn start(&self, pipeline: &str, (number, of): (u32, u32), slots: u32) -> Child {
        let folder = self.folder.join(number.to_string());
        fs::create_dir_all(&folder).expect("there is room for a folder");
        fs::write(folder.join("windlass.yml"), pipeline).expect("there is room for a file");
        let mut command = program(&folder);
        command.args(["run", "--output", "none", "--jobs", &slots.to_string()]);
        if of > 1 {
            command.args(["--instance", &number.to_string(), "--total", &of.to_string()]);
            command.args(["--link", &self.link, "--run-id", &format!("bench-{}", self.runs.get())]);
            command.args(["--min-workers", &(of - 1).to_string()]);
        }
        if number > 0 {
            command.args(["--label", "far"]);
        }
        command.spawn().expect("the program starts")
    }

    /// The duration that the leader recorded.
    fn wall(&self) -> Duration {
        let mut command = program(&self.folder.join("0"));
        let shown = command.args(["show", "latest", "--json"]).stdout(Stdio::piped()).spawn();
        let shown = wait_for_end(shown.expect("it starts"), "`windlass show`").stdout;
        let shown = String::from_utf8(shown).expect("it is text");
        let (_, behind) = shown.split_once("\"wall_ms\":").expect("it tells");
        let digits = behind.trim_start().split(|c: char| !c.is_ascii_digit()).next();
        let millis = digits.and_then(|digits| digits.parse().ok()).expect("it is a number");
        Duration::from_millis(millis)
    }
}

fn program(folder: &Path) -> Command {
    let mut command = Command::new(windlass());
    command.current_dir(folder).env("XDG_CONFIG_HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
