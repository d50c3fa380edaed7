//! Steps that are compiled in: functions of the worker's own program.
//!
//! ```text
//!  Grant ──► CallExecutor ──┬─ `call: NAME` ──► Callee::call(StepCall) ──► Outcome
//!                           └─ anything else ──► the executor behind it
//! ```
//!
//! A [`Callee`] is a step with its types erased. A [`StepCall`] is everything that one attempt may ask for. The
//! function is polled in the worker's runtime, or in a runtime of its own where steps may block. After the order to
//! stop, it has its grace to return. Then it is dropped, and what it started is killed. A function that does not yield
//! cannot be dropped and is awaited: the attempt is over when it returns, and no other step gets its locks before. If
//! its lease is about to pass on, the guard kills the worker: it was informed of the step before that began
//! ([`GuardSource::Watching`]).

mod call_attempt;
mod call_executor;
mod call_task;
mod callee_registry;
mod guard_source;
mod guarded_command;
mod output_buffer;
mod panics;
mod step_call;
mod stop_signal;

pub use call_executor::CallExecutor;
pub use call_task::{CatchPanicFuture, catch_panics};
pub use callee_registry::{CallFuture, CallResult, CallRetry, Callee, CalleeRegistry};
pub use guard_source::GuardSource;
pub use guarded_command::{CommandOutput, GuardedCommand};
pub use output_buffer::CallOutputBuffer;
pub use step_call::{CallServices, StepCall};
pub use stop_signal::CallStopSignal;
