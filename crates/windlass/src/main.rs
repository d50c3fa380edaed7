//! The program `windlass`: hands its arguments to the library and ends with the code it returns.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass::Cli::new().main()
}
