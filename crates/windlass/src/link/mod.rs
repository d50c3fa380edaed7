//! Links: what carries session messages between the leader and its workers.
//!
//! A link is a dumb pipe. It may lose, duplicate, delay and reorder what it carries; the session at both ends repairs
//! that. [`Link`] is a worker's end of one.

mod seam;

pub use seam::{Carried, Link, LinkError};
