//! The program `windlass`: hands its arguments to the library and ends with the code it returns.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A worker's guard is this program too; nothing may come before it.
    windlass::worker::guard::main_if_asked();
    windlass::cli::run(std::env::args_os().skip(1))
}
