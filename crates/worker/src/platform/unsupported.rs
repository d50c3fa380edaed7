//! Systems that are neither Linux nor another Unix.

/// Does nothing: the memory of a process cannot be hidden here.
pub const fn hide_memory() {}
