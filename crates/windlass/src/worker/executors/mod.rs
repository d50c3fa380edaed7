//! The executors that are built in.
//!
//! ```text
//!  Grant ──► prepare: work + values ──► process: guard, pipe, timeout, stops ──► Outcome
//!                                              └──► output ──► record: masks, cap ──► LogStore
//! ```

mod builtin;
mod calls;
mod files;
mod output;
mod prepare;
mod process;
mod record;
mod secrets;
mod works;

pub use builtin::{Builtin, Place, Traces};
pub(crate) use calls::caught;
pub use calls::{
    Call, CallExecutor, Callee, Callees, Calling, Captured, GuardedCommand, Guards, Halt, Lines,
    Retry, Returned, Surroundings,
};
pub use files::{clear, summary};
pub use secrets::{MaskCache, missing_here, process_environment};
