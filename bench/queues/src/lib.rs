//! What the programs of this package share: each drives one queue and says what it measured.

pub mod stopwatch;
