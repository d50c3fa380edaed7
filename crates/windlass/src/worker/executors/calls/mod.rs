//! Steps that are compiled in: functions of the worker's own program.
//!
//! ```text
//!  Grant ──► CallExecutor ──┬─ `call: NAME` ──► Callee::call(Call) ──► Outcome
//!                           └─ anything else ──► the executor behind it
//! ```
//!
//! A [`Callee`] is a step with its types hidden; a [`Call`] is all that one attempt may ask for. The function is polled in
//! the worker's runtime, or in one of its own where steps may block. Told to end, it has its grace to return; then it is
//! dropped, and what it started is killed. What cannot be dropped because it does not yield is waited for: until it has
//! returned the attempt is not over, and nobody else gets its locks. If its lease is about to pass on, the guard kills the
//! worker: it was told of the step before that began ([`Guards::Watching`]).

mod attempt;
mod call;
mod command;
mod executor;
mod halt;
mod lines;
mod panics;

pub(crate) use attempt::caught;
pub use call::{Call, Callee, Callees, Calling, Retry, Returned, Surroundings};
pub use command::{Captured, GuardedCommand};
pub use executor::{CallExecutor, Guards};
pub use halt::Halt;
pub use lines::Lines;
