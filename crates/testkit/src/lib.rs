//! What proves windlass: the simulator with its checkers, the hunt for planted bugs, and the measures of the code.
//!
//! The rules of the repository itself are in `tests/tidy`.

pub mod house;
pub mod sim;
