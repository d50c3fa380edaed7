//! The worker: executes attempts under leases.
//!
//! [`Worker::run`] joins the leader over a link, exchanges with it, and has an [`Executor`] run what it is granted.

mod attempts;
mod backoff;
mod exchanges;
mod executor;
#[cfg(unix)]
pub mod executors;
pub mod guard;
pub mod labels;
mod life;
mod mask_forms;
mod mask_search;
pub mod masks;
pub mod outputs;
pub(crate) mod platform;
mod state;
#[cfg(unix)]
pub mod values;

pub use executor::{Attempt, Executor, Orders, Over, Prepared, Turn};
pub use life::{Beside, Ends, Worker, WorkerError};
pub use state::{GuardLock, GuardPlace, Lives, Membership, State, StateError};

pub use crate::clock::Clock;
