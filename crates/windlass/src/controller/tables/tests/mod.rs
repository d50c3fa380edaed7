//! The tables after stories, after chance, and after a million steps.

mod crew;
mod faults;
mod histories;
mod scale;
mod stories;
