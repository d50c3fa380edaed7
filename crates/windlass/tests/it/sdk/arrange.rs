//! The vocabulary of these tests: programs with steps of their own, which are the examples.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::arrange::{FinishedProgram, RunFolder, RunningProgram};

/// The program of an example.
pub(super) fn example(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_BIN_EXE_windlass")).parent().expect("it is in a folder");
    let program = programs.join("examples").join(name);
    assert!(program.exists(), "{} is built with the tests", program.display());
    program
}

/// An example with these arguments, split at blanks.
pub(super) fn command(place: &RunFolder, name: &str, line: &str) -> Command {
    let mut command = place.program(&example(name).to_string_lossy());
    command.args(line.split_whitespace());
    command
}

/// An example that was started.
pub(super) fn start(place: &RunFolder, name: &str, line: &str) -> RunningProgram {
    place.start_command(command(place, name, line))
}

/// An example that was run to its end.
pub(super) fn run(place: &RunFolder, name: &str, line: &str) -> FinishedProgram {
    start(place, name, line).ended()
}

/// A file of the examples, by its whole path.
pub(super) fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rust");
    root.join(name).display().to_string()
}
