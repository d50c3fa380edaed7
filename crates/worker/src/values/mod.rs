//! Results that are too large to travel with their outcomes.
//!
//! ```text
//!  worker 1: step ──► ValueStore::keep ──pieces──► leader: a stream beside the attempt's log, synced
//!                        └──► Outcome { Kept: which delivery, hash, size } ──► journal
//!  worker 2: Grant { kept: … } ──► ValueStore::gather ──pieces── leader       (or its cache, if it had it before)
//! ```
//!
//! The journal has the reference, never the bytes. The worker reports the outcome when the leader has all bytes, so
//! acknowledged bytes exist. A worker that fetches them checks length and hash. They are kept as long as the logs of
//! their run.
//!
//! A step that is pinned to the leader may pass on a value that cannot travel. The value stays in the memory of the
//! leader's worker ([`ValueStore::keep_in_memory`]), for steps that are pinned as well, and ends with that process.

mod gather;
mod in_memory_values;
mod value_cache;
mod value_store;

pub use gather::{GatherError, InMemoryPolicy};
pub use in_memory_values::InMemoryValue;
pub use value_store::ValueStore;
