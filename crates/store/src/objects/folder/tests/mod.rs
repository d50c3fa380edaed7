//! Guarantees of a folder of objects beyond the conformance suite: crashes, damage, full disks and other processes.

mod conformance;
mod damage;
mod disk_faults;
mod fixtures;
mod leftovers;
mod processes;
#[cfg(target_os = "linux")]
mod syncs;
