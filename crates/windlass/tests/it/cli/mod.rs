//! The command line: its output and its exit codes.

mod ci;
mod config;
mod expand;
mod explain;
mod files;
mod first_mistakes;
mod graph;
mod init;
mod plan;
mod schema;
mod ship;
mod usage;
mod validate;
