//! The start queue of a guard: which step starts next, and what is known of starts when the worker dies.
//!
//! Between the end of a short process and the start of the next lies a message to the worker and back, which takes longer
//! than the process. Steps in the queue of the guard are spared it.
//!
//! ```text
//!  worker ── enqueue, withdraw, stop ──► StartQueue ──► start this step now
//!  processes ── started, gone ─────────►            ──► report this to the worker by then
//! ```
//!
//! The guard of `windlass-worker` acts on the decisions of this module, and so does the guard of the simulator. How far ahead
//! the worker fills the queue is decided by the [session](crate::session).

mod limits;
mod queue;
mod unjudged_starts;

pub use limits::{QUEUED_STEPS_MAX, StartQueueLimits, queued_steps_max};
pub use queue::{STARTED_REPORT_WAIT, StartQueue, StepEnd};
pub use unjudged_starts::UnjudgedStarts;
