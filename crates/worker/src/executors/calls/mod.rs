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
//! worker: it was told of the step before that began ([`GuardSource::Watching`]).

mod call_attempt;
mod call_executor;
mod guarded_command;
mod output_buffer;
mod panics;
mod step_call;
mod stop_signal;

pub use call_attempt::{CatchPanicFuture, catch_panics};
pub use call_executor::{CallExecutor, GuardSource};
pub use guarded_command::{CommandOutput, GuardedCommand};
pub use output_buffer::CallOutputBuffer;
pub use step_call::{
    CallFuture, CallResult, CallRetry, CallServices, Callee, CalleeRegistry, StepCall,
};
pub use stop_signal::CallStopSignal;
