//! Tests on every platform and database, with the target as a typed parameter. Cells that no machine here can run are
//! skipped, and the report says so.
//!
//! `cargo run --example matrix -- run`

use std::process::ExitCode;

use serde::Deserialize;
use windlass::{Cells, Context, Pipeline, Result, Target, step};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Db {
    Sqlite,
    Postgres,
}

/// The target of a cell: a field for each axis.
#[derive(Debug, Deserialize)]
struct On {
    os: String,
    db: Db,
}

/// Tests against a database
#[step(
    matrix(os = ["linux", "windows"], db = ["sqlite", "postgres"]),
    timeout = "10m",
    retry(times = 1, on = ["timed_out"], elsewhere),
    env(RUST_BACKTRACE = "1"),
)]
async fn test(ctx: &Context, on: Target<On>) -> Result<usize> {
    let suite = match on.db {
        Db::Sqlite => "fast",
        Db::Postgres => "thorough",
    };
    let text = ctx.command("echo").args([suite, "suite on", &on.os]).text().await?;
    Ok(text.len())
}

/// Reports the tested targets
#[step(always)]
async fn tell(ctx: &Context, test: Cells<Test>) -> Result<()> {
    for cell in test.iter() {
        ctx.log(format_args!("{} {}", cell.target(), cell.status));
    }
    Ok(())
}

fn main() -> ExitCode {
    Pipeline::new("matrix").add(test).add(tell).main()
}
