//! The pipeline file, from text to plan: what is read, what is reported, and the resulting plan.

#![expect(clippy::too_many_lines, reason = "a test is as long as the output that it quotes")]

mod bounds;
mod calls;
mod cells;
mod corrections;
mod expansion;
mod explain;
mod first_mistakes;
mod graph;
mod hostile;
mod keys;
mod limits;
mod other_tools;
mod outline;
mod paths;
mod sample;
mod schema;
mod selection;
mod yaml;
