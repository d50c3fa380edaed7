//! A step that files call with values, any number of times.
//!
//! `cargo run --example python -- run examples/rust/python.yml`

use std::process::ExitCode;

use windlass::{Context, Input, Pipeline, Result, step};

/// Runs Python code and returns its output
#[step(requires = "python3")]
async fn python(
    ctx: &Context,
    code: Input<String>,
    input: Option<Input<String>>,
) -> Result<String> {
    let command = ctx.command("python3").arg("-c").arg(&*code);
    let command = match input {
        Some(input) => command.arg(&*input),
        None => command,
    };
    command.text().await
}

fn main() -> ExitCode {
    Pipeline::new("python").add(python).main()
}
