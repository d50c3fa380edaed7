//! What each event does to the state. The same code runs when an event is decided and when it is replayed.
//!
//! `fold` has one arm per event. The functions that the arms call are in the other files, by subject.

mod access;
mod fold;
mod interruption;
mod leases;
mod need_propagation;
mod runs;
mod workers;

pub use fold::ApplyError;
