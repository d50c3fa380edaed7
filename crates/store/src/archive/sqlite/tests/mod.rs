//! What the archive in SQLite promises beyond the conformance suite: what happens to its file.

mod basics;
mod fixtures;
mod invalid_files;
