//! The command line: arguments in, text out, an exit code at the end.
//!
//! `program` is all of it as a value, for somebody's own binary, and `compiled` the steps in Rust that it has; `args` only
//! parses; `commands` has one file per command, whose doc comments are its help; `context` is what a command
//! knows of its surroundings; `project` finds the file and the root; `part` says which part of a file is wanted, `load`
//! reads it; `how` is what every command that runs steps takes, `logging` what every command
//! that stays does, `environment_args` what steps inherit, `otlp` where spans go; `reading` finds runs, in a store or at
//! a controller; `running` does them, `watching` shows those of others, `serving` is for clusters, `instances` for processes that share a run without one; `settings` is what files
//! and the environment say beside flags; `written` is what steps wrote for
//! people; `render` makes texts, pure; `output` alone prints; `error` turns whatever went wrong into words and a code of
//! `exit`.

mod args;
mod commands;
mod compiled;
mod context;
mod dispatch;
mod environment;
mod environment_args;
mod error;
mod exit;
mod help;
mod how;
mod instances;
mod listing;
mod load;
mod logging;
mod number;
mod otlp;
pub mod output;
mod part;
mod program;
mod project;
mod reading;
mod render;
mod running;
mod serving;
mod settings;
mod watching;
mod written;

pub(crate) use compiled::Compiled;
pub use dispatch::run;
pub use program::Cli;
