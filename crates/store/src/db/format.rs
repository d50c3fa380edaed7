//! The name of the store format.
//!
//! Every database of a store contains the name. A windlass opens stores of its own format only, because it would misread the
//! bytes of another. Within a format, tables change by migrations, and events by [upcasts](super::frame_format).

/// The format that this windlass reads and writes.
///
/// Until the first release, formats change without migrations and upcasts, and the name has the date of the last change. The
/// first release names it `windlass-1`.
pub const STORE_FORMAT: &str = "windlass-1-draft-20261120";

/// Shown for a database of windlass that does not name its format.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub const UNNAMED_FORMAT: &str = "(unnamed)";
