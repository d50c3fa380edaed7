//! Folders that are captured, sent and written elsewhere.

mod attacks;
mod fixtures;
mod round_trip;
mod selections;
mod unchanged;
