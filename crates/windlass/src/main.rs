//! The program `windlass`: hands its arguments to the library and ends with the code it returns.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass::cli::run(std::env::args_os().skip(1))
}
