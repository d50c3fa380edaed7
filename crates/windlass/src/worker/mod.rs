//! The worker: executes attempts under leases.
//!
//! [`Worker::run`] joins the leader over a link, exchanges with it, and has an [`Executor`] run what it is granted.

mod clock;
mod exchanges;
mod executor;
#[cfg(unix)]
pub mod executors;
pub mod guard;
pub mod labels;
pub mod masks;
pub mod outputs;
pub(crate) mod platform;

pub use clock::Clock;
pub use exchanges::{Worker, WorkerError};
pub use executor::{Attempt, Executor, Orders, Over};
