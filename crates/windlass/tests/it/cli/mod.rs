//! The program as people and scripts use it: what it prints, where, and how it ends.

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
