//! Shared code of the programs of this package. Each drives one queue and prints its measurements.

pub mod stopwatch;
