//! A release over three processes: the same program is the controller and both workers.
//!
//! ```sh
//! cargo run --example release -- serve --no-exec &
//! cargo run --example release -- worker --join http://127.0.0.1:7700 --name one --label compiler &
//! cargo run --example release -- worker --join http://127.0.0.1:7700 --name two --label lab &
//! cargo run --example release -- submit --to http://127.0.0.1:7700 --wait
//! ```

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use windlass::{Context, Ended, Input, Out, Param, Pipeline, Result, step};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Built {
    version: String,
    at: SystemTime,
    files: BTreeMap<String, File>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum File {
    Folder,
    Link { to: Option<String> },
    Bytes(Vec<u8>),
}

/// The image, which is the same on every machine, so that a dependent can check it.
fn built(version: &str) -> Built {
    let at = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
    let files = [
        ("bin".to_owned(), File::Folder),
        ("bin/app".to_owned(), File::Bytes((0..=255).collect())),
        ("bin/old".to_owned(), File::Link { to: None }),
        ("bin/new".to_owned(), File::Link { to: Some("app".to_owned()) }),
    ];
    Built { version: version.to_owned(), at, files: files.into() }
}

#[derive(Debug, thiserror::Error)]
#[error("{failed} of {all} tests failed")]
struct TestsFailed {
    failed: usize,
    all: usize,
    source: std::io::Error,
}

/// Builds the image on a worker with a compiler
#[step(requires = "compiler", timeout = "10m", retry = 1)]
async fn build(ctx: &Context, version: Input<String>) -> Result<Built> {
    ctx.log(format_args!("building {} on {}", *version, ctx.worker()));
    Ok(built(&version))
}

/// Tests the image in the lab
#[step(requires = "lab", lock = "lab-bench")]
async fn test(ctx: &Context, build: Out<Build>, broken: Input<bool>) -> Result<usize> {
    assert_eq!(*build, built(&build.version), "it did not arrive as it was built");
    ctx.command("echo").arg("testing").arg(&build.version).run().await?;
    if *broken {
        let source = std::io::Error::other("the lamp is out");
        return Err(TestsFailed { failed: 1, all: build.files.len(), source }.into());
    }
    Ok(build.files.len())
}

/// Publishes the image, once, even if workers are lost
#[step(lock = "production", retry(lost = 0))]
async fn publish(ctx: &Context, build: Out<Build>, test: Out<Test>) -> Result<String> {
    let key = ctx.idempotency_key();
    ctx.log(format_args!("{} passed {} tests; key {key}", build.version, *test));
    Ok(format!("https://releases.example/{}", build.version))
}

/// Reports the outcome
#[step(always)]
async fn tell(ctx: &Context, publish: Ended<Publish>) -> Result<()> {
    match publish.output {
        Some(address) => ctx.log(format_args!("released at {address}")),
        None => ctx.log(format_args!("not released: {}", publish.status)),
    }
    Ok(())
}

fn main() -> ExitCode {
    Pipeline::new("release")
        .param("version", Param::text().default("1.2.3"))
        .param("broken", Param::flag().default(false))
        .add(build)
        .add(test)
        .add(publish)
        .add(tell)
        .main()
}
