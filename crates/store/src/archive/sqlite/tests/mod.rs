//! Promises of the SQLite archive beyond the conformance suite: its file.

mod basics;
mod fixtures;
mod invalid_files;
