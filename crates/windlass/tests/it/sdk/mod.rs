//! Steps in Rust: typed needs, contexts, and outcomes.

mod endings;
mod graph;
mod hooks;
mod large_values;
mod processes;
mod programs;
mod rehearsals;
mod step_logs;
mod uncooperative_steps;
mod values;
