//! Promises of the SQLite journal beyond the conformance suite: its files and its process.

mod basics;
mod disk_faults;
mod fixtures;
#[cfg(target_os = "linux")]
mod fsync;
mod group_commit;
mod invalid_files;
mod lost_history;
#[cfg(unix)]
mod permissions;
mod processes;
mod snapshots;
mod wal_preallocation;
