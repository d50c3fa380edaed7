//! Other task runners, with the same graphs of no-op processes as `windlass run`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::engine_fleet::now;
use crate::plans::SplitMix64;
use crate::process::wait_for_end;

/// The needs of each step, by number.
pub(crate) type StepGraph = Vec<Vec<u32>>;

/// Steps without needs.
pub(crate) fn flat(steps: u32) -> StepGraph {
    (0..steps).map(|_| Vec::new()).collect()
}

/// Each step needs the one before.
pub(crate) fn chain(steps: u32) -> StepGraph {
    (0..steps).map(|at| at.checked_sub(1).into_iter().collect()).collect()
}

/// Layers of a hundred; each step needs one to four of the layer above, by chance from a fixed seed.
pub(crate) fn layered(steps: u32) -> StepGraph {
    const WIDTH: u32 = 100;
    let mut chance = SplitMix64(6);
    let needs_of = |at: u32| {
        let Some(above) = (at / WIDTH).checked_sub(1) else { return Vec::new() };
        let count = 1 + chance.below(4);
        let mut needs: Vec<u32> =
            (0..count).map(|_| above * WIDTH + chance.below(WIDTH.into())).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    };
    (0..steps).map(needs_of).collect()
}

/// A program that runs graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskRunner {
    Windlass,
    Make,
    Ninja,
    Just,
}

impl TaskRunner {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Windlass => "windlass",
            Self::Make => "make",
            Self::Ninja => "ninja",
            Self::Just => "just",
        }
    }

    /// Whether it is installed.
    pub(crate) fn is_installed(self) -> bool {
        let program = if self == Self::Windlass { windlass() } else { self.name().into() };
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    }

    /// Writes the graph in the format of this runner.
    pub(crate) fn write(self, graph: &StepGraph, folder: &Path) {
        let text = match self {
            Self::Windlass => pipeline(graph, "run: \"true\""),
            Self::Make => makefile(graph),
            Self::Ninja => ninja(graph),
            Self::Just => justfile(graph),
        };
        fs::write(folder.join(self.file()), text).expect("the folder takes files");
    }

    /// The time for the graph in a folder, two steps at a time; `None` if it fails.
    pub(crate) fn time(self, folder: &Path) -> Option<Duration> {
        let mut command = self.command();
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let began = now();
        let child = command.stderr(Stdio::null()).spawn().ok()?;
        let status = wait_for_end(child, self.name()).status;
        let took = began.elapsed();
        status.success().then_some(took)
    }

    fn command(self) -> Command {
        match self {
            Self::Windlass => {
                let mut command = Command::new(windlass());
                command.args(["run", self.file(), "--jobs", "2", "--output", "none"]);
                command
            }
            Self::Make => with("make", &["-s", "-j2", "-f", self.file()]),
            Self::Ninja => with("ninja", &["--quiet", "-j2", "-f", self.file()]),
            Self::Just => with("just", &["--quiet", "--justfile", self.file()]),
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::Windlass => "windlass.yml",
            Self::Make => "Makefile",
            Self::Ninja => "build.ninja",
            Self::Just => "justfile",
        }
    }
}

fn with(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// The program that was built beside this one.
pub(crate) fn windlass() -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a file");
    own.with_file_name("windlass")
}

/// A pipeline whose steps all do the same.
pub(crate) fn pipeline(graph: &StepGraph, action: &str) -> String {
    let mut text = "steps:\n".to_owned();
    for (at, needs) in graph.iter().enumerate() {
        let needs: Vec<String> = needs.iter().map(|need| format!("s{need}")).collect();
        let needs = if needs.is_empty() {
            String::new()
        } else {
            format!(", needs: [{}]", needs.join(", "))
        };
        put(&mut text, &format!("  s{at}: {{ {action}{needs} }}\n"));
    }
    text
}

fn makefile(graph: &StepGraph) -> String {
    let all: Vec<String> = (0..graph.len()).map(|at| format!("s{at}")).collect();
    let all = all.join(" ");
    let mut text = format!(".PHONY: all {all}\nall: {all}\n");
    for (at, needs) in graph.iter().enumerate() {
        put(&mut text, &format!("s{at}:{}\n\t@true\n", names(needs)));
    }
    text
}

fn ninja(graph: &StepGraph) -> String {
    let mut text = "rule step\n  command = true\n".to_owned();
    for (at, needs) in graph.iter().enumerate() {
        put(&mut text, &format!("build s{at}: step{}\n", names(needs)));
    }
    text
}

/// The target is the last step: its needs run one after the other.
fn justfile(graph: &StepGraph) -> String {
    let mut text = format!("all: s{}\n", graph.len() - 1);
    for (at, needs) in graph.iter().enumerate() {
        put(&mut text, &format!("s{at}:{}\n\t@true\n", names(needs)));
    }
    text
}

fn names(needs: &[u32]) -> String {
    let names: Vec<String> = needs.iter().map(|need| format!(" s{need}")).collect();
    names.concat()
}

fn put(text: &mut String, more: &str) {
    write!(text, "{more}").expect("a string takes all that is written to it");
}
