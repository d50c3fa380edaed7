//! The executors that are built in.
//!
//! ```text
//!  Grant ──► prepare: work + values ──► process: guard, pipe, timeout, stops ──► Outcome
//!                                              └──► output ──► record: masks, cap ──► LogStore
//! ```

mod attempt_log;
mod attempt_workspace;
mod builtin_executor;
mod calls;
mod output_pipe;
mod prepared_command;
mod process_attempt;
mod secrets;
mod step_files;
mod test_reports;
mod work_cache;

pub use builtin_executor::{BuiltinExecutor, ExecutorSettings, TracePropagation};
pub use calls::{
    CallExecutor, CallFuture, CallOutputBuffer, CallResult, CallRetry, CallServices,
    CallStopSignal, Callee, CalleeRegistry, CatchPanicFuture, CommandOutput, GuardSource,
    GuardedCommand, StepCall, catch_panics,
};
pub use secrets::{MaskCache, missing_here, process_environment};
pub use step_files::{clear, summary};
