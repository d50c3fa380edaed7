//! The smallest pipeline in Rust: `cargo run --example hello -- run`

use std::process::ExitCode;

use windlass::{Context, Out, Pipeline, Result, step};

/// Returns the name to greet
#[step]
async fn name() -> Result<String> {
    Ok("world".to_owned())
}

/// Greets
#[step]
async fn greet(ctx: &Context, name: Out<Name>) -> Result<()> {
    ctx.log(format_args!("hello, {}", *name));
    Ok(())
}

fn main() -> ExitCode {
    Pipeline::new("hello").add(name).add(greet).main()
}
