//! The name of the format in which a store is written.
//!
//! The name stands in every database of a store. A windlass opens a store of its own format only: bytes of another format would
//! be read as something that they do not mean. Within one format, tables change by migrations, and events and snapshots
//! carry a version of their own.

/// The format that this windlass reads and writes.
pub const STORE_FORMAT: &str = "windlass-1";

/// Shown for a store that was written before formats had names.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub const UNNAMED_FORMAT: &str = "(unnamed, from before windlass-1)";
