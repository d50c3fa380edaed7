//! Tests of pipelines in Rust, with the real engine, real sessions and virtual time. A test can replace steps and let workers
//! die.
//!
//! ```
//! use std::time::Duration;
//!
//! use windlass::testing::PipelineTest;
//! use windlass::{Context, Out, Pipeline, Result, step};
//!
//! #[step(retry(times = 2, wait = "1h"))]
//! async fn upload() -> Result<String> {
//!     unreachable!("no test uploads anything")
//! }
//!
//! #[step]
//! async fn announce(upload: Out<Upload>) -> Result<usize> {
//!     Ok(upload.len())
//! }
//!
//! #[tokio::main(flavor = "current_thread", start_paused = true)]
//! async fn main() -> Result<()> {
//!     let pipeline = Pipeline::new("ship").add(upload).add(announce);
//!     let result = PipelineTest::of(pipeline)
//!         .replace(upload, async |ctx: Context| match ctx.attempt() {
//!             1 => Err(windlass::Error::msg("the line is busy")),
//!             _ => Ok("there".to_owned()),
//!         })
//!         .run()
//!         .await?;
//!     assert_eq!(result.report().get(announce)?, 5);
//!     assert_eq!(result.workers_of("upload"), ["one", "one"]);
//!     assert!(result.took() >= Duration::from_secs(1_800));
//!     Ok(())
//! }
//! ```
//!
//! The time is that of the runtime: a test with `#[tokio::test(start_paused = true)]` does not wait for timeouts and
//! back-offs. Commands take real time, so replace a step that runs one.

mod pipeline_test;
mod test_cluster;
mod test_result;

pub use pipeline_test::PipelineTest;
pub use test_result::PipelineTestResult;
