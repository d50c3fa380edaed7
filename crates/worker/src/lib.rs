//! The worker: executes attempts under leases.
//!
//! A [`WorkerSetup`] assembles a worker. [`WorkerRuntime::run`] joins the leader over a link, exchanges messages with
//! it, and has an [`Executor`] run the granted steps.

#[cfg(unix)]
pub mod artifacts;
mod backoff;
mod exchange_loop;
mod executor;
#[cfg(unix)]
pub mod executors;
pub mod guard;
pub mod labels;
mod mask_forms;
mod mask_search;
pub mod masks;
mod open_attempts;
pub(crate) mod platform;
mod state_directory;
pub mod step_outputs;
#[cfg(unix)]
pub mod values;
mod worker_runtime;
mod worker_setup;
#[cfg(unix)]
pub mod workspaces;

pub use executor::{
    AttemptFuture, AttemptOrders, Executor, ExecutorBrokenFuture, ExecutorReadyFuture,
    StartQueueTurn,
};
pub use platform::hide_memory;
pub use state_directory::{
    ClusterMembership, GuardLock, GuardLockIdentity, StateDirectory, StateDirectoryError,
    WorkerIncarnations,
};
pub use windlass_core::session::PeerWorkers;
pub use windlass_net::clock::ProcessClock;
pub use worker_runtime::{WorkerError, WorkerRuntime, WorkerShutdown};
pub use worker_setup::WorkerSetup;
