//! One file per command: its arguments, whose doc comments are its help, and `run`, which answers with an exit code.

pub(super) mod cancel;
pub(super) mod completions;
pub(super) mod context;
pub(super) mod dev;
pub(super) mod doctor;
mod drain;
pub(super) mod expand;
pub(super) mod explain;
pub(super) mod graph;
pub(super) mod init;
mod kits;
pub(super) mod locks;
pub(super) mod logs;
pub(super) mod plan;
pub(super) mod queue;
pub(super) mod rerun;
pub(super) mod run;
pub(super) mod runs;
pub(super) mod schema;
pub(super) mod serve;
pub(super) mod show;
pub(super) mod submit;
pub(super) mod validate;
pub(super) mod watch;
pub(super) mod why;
pub(super) mod worker;
pub(super) mod workers;
