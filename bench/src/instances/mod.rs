//! One run by several processes that meet at a Redis: how much faster, and what that costs.
//!
//! Everything is the program itself, as CI runners start it. How long a run took is what its leader wrote down: from its
//! submission, after all instances had joined, to its end.

mod instance_fleet;
mod rows;

pub(crate) use rows::rows;
