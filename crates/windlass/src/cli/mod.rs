//! The command line: arguments in, text out, an exit code at the end.
//!
//! `program` is all of it as a value, for somebody's own binary, and `extensions` the steps in Rust that it has; `args` only
//! parses; `commands` has one file per command, whose doc comments are its help; `context` is what a command
//! knows of its surroundings; `project` finds the file and the root; `pipeline_args` says which part of a file is wanted, `load_pipeline`
//! reads it; `local_run_args` is what every command that runs steps takes, `logging` what every command
//! that stays does, `environment_args` what steps inherit, `otlp` where spans go; `run_source` finds runs, in a store or at
//! a controller; `local_run` does them, `remote_watch` shows those of others, `daemon` is for clusters, `ci_instances` for processes that share a run without one; `settings` is what files
//! and the environment say beside flags; `step_summaries` is what steps wrote for
//! people; `render` makes texts, pure; `output` alone prints; `error` turns whatever went wrong into words and a code of
//! `exit`.

mod args;
mod bounded_number;
mod ci_instances;
mod cluster_list;
mod commands;
mod context;
mod daemon;
mod dispatch;
mod environment;
mod environment_args;
mod error;
mod exit;
mod extensions;
mod help;
mod load_pipeline;
mod local_run;
mod local_run_args;
mod logging;
mod otlp;
pub mod output;
mod pipeline_args;
mod program;
mod project;
mod remote_watch;
mod render;
mod run_source;
mod settings;
mod step_summaries;

pub use dispatch::run;
pub(crate) use extensions::ProgramExtensions;
pub use program::Cli;
