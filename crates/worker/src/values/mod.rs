//! Results that are too large to travel with their outcomes.
//!
//! ```text
//!  worker 1: step ──► Depot::keep ──pieces──► leader: a stream beside the attempt's log, synced
//!                        └──► Outcome { Kept: which hand-out, hash, size } ──► journal
//!  worker 2: Grant { kept: … } ──► Depot::gather ──pieces── leader       (or its cache, if it had it before)
//! ```
//!
//! The journal has the reference, never the bytes. The outcome is told when the leader has all of them, so that what is
//! acknowledged is there; who fetches them checks length and hash. They are kept as long as the logs of their run.
//!
//! A step that is pinned to the leader may hand on what cannot travel at all: it stays in the memory of the leader's worker
//! ([`ValueStore::keep_here`]), for steps that are pinned as well, and ends with that process.

mod gather;
mod in_memory_values;
mod value_cache;
mod value_store;

pub use gather::{GatherError, InMemoryPolicy};
pub use in_memory_values::InMemoryValue;
pub use value_store::ValueStore;
