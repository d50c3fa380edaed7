//! One file per command: its arguments, whose doc comments are the help, and `run`, which returns the exit code.

pub(super) mod artifacts;
pub(super) mod audit;
mod build_tools;
pub(super) mod cancel;
pub(super) mod ci;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod context;
pub(super) mod dev;
pub(super) mod doctor;
pub(super) mod expand;
pub(super) mod explain;
pub(super) mod graph;
pub(super) mod init;
pub(super) mod keys;
pub(super) mod locks;
mod locks_release;
pub(super) mod logs;
mod logs_grep;
mod logs_printer;
pub(super) mod plan;
pub(super) mod queue;
pub(super) mod rerun;
pub(super) mod run;
pub(super) mod runs;
pub(super) mod schema;
pub(super) mod serve;
pub(super) mod show;
#[cfg(feature = "postgres")]
pub(super) mod store;
#[cfg(feature = "postgres")]
mod store_backup;
#[cfg(feature = "postgres")]
mod store_check;
pub(super) mod submit;
mod submit_response;
pub(super) mod token;
pub(super) mod validate;
pub(super) mod watch;
pub(super) mod why;
pub(super) mod worker;
mod worker_drain;
mod worker_revoke;
pub(super) mod workers;
