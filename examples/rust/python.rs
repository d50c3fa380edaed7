//! An executor of one's own: a step that files call with values, as often as they like.
//!
//! `cargo run --example python -- run examples/rust/python.yml`

use std::process::ExitCode;

use windlass::{Context, Input, Pipeline, Result, step};

/// Runs a piece of Python and hands on what it prints
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
