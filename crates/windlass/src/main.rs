//! The program `windlass`: hands its arguments to the library and ends with the code it returns.

use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static HEAP: windlass::MiMalloc = windlass::MiMalloc;

fn main() -> ExitCode {
    windlass::Cli::new().main()
}
