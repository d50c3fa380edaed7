//! What the journal in SQLite promises beyond the conformance suite: what happens to its files and its process.

mod basics;
mod crew;
mod faults;
mod foreign;
mod groups;
mod history;
#[cfg(unix)]
mod owners;
mod processes;
mod room;
mod snapshots;
#[cfg(target_os = "linux")]
mod syncs;
