//! The command line: arguments in, text out, an exit code at the end.
//!
//! | module | contents |
//! |---|---|
//! | `program`, `extensions` | the command line as a value for other binaries, and the Rust steps compiled into it |
//! | `args`, `commands`, `dispatch`, `help` | parsing, and one file per command, whose doc comments are its help |
//! | `context`, `environment`, `settings` | the environment of a command; flags, variables and settings files |
//! | `project`, `pipeline_args`, `load_pipeline` | finding a file, selecting a part of it, and loading it |
//! | `local_run_args`, `logging`, `environment_args`, `otlp` | options that several commands share |
//! | `run_source` | finding runs, in a store or on a controller |
//! | `local_run`, `run_watch`, `daemon`, `ci_instances` | local runs, a run on the screen, cluster processes, shared runs |
//! | `embedded_worker` | the worker inside a leader's process |
//! | `snapshot` | the files of a project, sent to an object store |
//! | `step_summaries`, `step_tests` | the summaries that steps write; the results of their tests |
//! | `render`, `output` | pure rendering, and the only code that prints |
//! | `error`, `exit` | errors as messages, and exit codes |

mod args;
mod bounded_number;
mod ci_instances;
mod cluster_list;
mod commands;
mod context;
mod daemon;
mod dispatch;
mod embedded_worker;
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
pub(crate) mod output;
mod pipeline_args;
mod program;
mod project;
mod render;
mod run_source;
mod run_watch;
mod settings;
mod snapshot;
mod step_summaries;
mod step_tests;

pub(crate) use extensions::ProgramExtensions;
pub use program::Cli;
