//! Steps in Rust: typed needs, what a step is given, and how it ends.

mod endings;
mod graph;
