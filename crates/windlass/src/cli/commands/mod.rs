//! One file per command: its arguments, whose doc comments are its help, and `run`, which answers with an exit code.

pub(super) mod audit;
pub(super) mod cancel;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod context;
pub(super) mod dev;
pub(super) mod doctor;
mod drain;
pub(super) mod expand;
pub(super) mod explain;
pub(super) mod graph;
mod grep;
pub(super) mod init;
pub(super) mod keys;
mod kits;
pub(super) mod locks;
pub(super) mod logs;
pub(super) mod plan;
pub(super) mod queue;
mod release;
pub(super) mod rerun;
mod revoke;
pub(super) mod run;
pub(super) mod runs;
pub(super) mod schema;
pub(super) mod serve;
pub(super) mod show;
#[cfg(feature = "postgres")]
pub(super) mod store;
pub(super) mod submit;
mod submitted;
pub(super) mod token;
pub(super) mod validate;
pub(super) mod watch;
pub(super) mod why;
pub(super) mod worker;
pub(super) mod workers;
