//! Objects: immutable bytes that are named by their hash, and the rule by which unused ones are removed.
//!
//! | file | content |
//! |---|---|
//! | [`object_id`] | the name of an object: the BLAKE3 hash of its bytes |
//! | [`sweep`] | which objects a sweep may remove |

pub mod object_id;
pub mod sweep;
#[cfg(test)]
mod sweep_tests;

pub use object_id::ObjectId;
pub use sweep::{PackVerdict, SweepRule};
