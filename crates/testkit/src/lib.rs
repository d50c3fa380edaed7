//! What proves windlass: the simulator with its checkers, and the hunt for planted bugs.
//!
//! The rules of the repository itself are in `tests/tidy`.

pub mod sim;
