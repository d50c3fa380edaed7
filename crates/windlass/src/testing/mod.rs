//! Tests of pipelines in Rust: the real engine, real sessions, virtual time; steps replaced, workers that die on demand.
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
//! Time is that of the runtime: a test that begins with `#[tokio::test(start_paused = true)]` waits for nothing, whatever its
//! timeouts and back-offs are. Commands take real time: a step that runs one is best replaced.

mod pipeline_test;
mod test_cluster;
mod test_result;

pub use pipeline_test::PipelineTest;
pub use test_result::PipelineTestResult;
