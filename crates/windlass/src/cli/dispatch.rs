//! The answer to each request.

use std::ffi::OsString;
use std::process::ExitCode;

use super::args::Request;
use super::{exit, output};

const VERSION: &str = concat!("windlass ", env!("CARGO_PKG_VERSION"));

const HELP: &str = "\
Runs graphs of work on one machine or many.

This version contains the engine and its journal: there is no command yet.

Usage: windlass [OPTION]

Options:
  -h, --help     Print this help
  -V, --version  Print the version";

const NO_COMMAND: &str = "\
windlass: this version contains the engine and its journal, and has no command yet.
See `windlass --help`.";

/// Answers the arguments that follow the program's name and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let code = match Request::parse(arguments) {
        Request::Help => output::data(HELP),
        Request::Version => output::data(VERSION),
        Request::Command => {
            output::talk(NO_COMMAND);
            exit::USAGE
        }
    };
    ExitCode::from(code)
}
