//! One run shared by several processes over Redis: the speedup and its cost.
//!
//! The measurements use the program itself, as CI runners start it. The duration of a run is the one that its leader
//! recorded: from its submission, after all instances had joined, to its end.

mod instance_fleet;
mod rows;

pub(crate) use rows::rows;
