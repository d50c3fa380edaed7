//! A cluster of real processes on loopback: `windlass serve` and `windlass worker`.

#[cfg(feature = "sqlite")]
mod condemned_runs;
mod contact;
mod disks;
mod distribution;
mod endings;
mod environment;
mod files;
mod identity;
mod load;
mod loopback;
mod messages;
mod metrics;
mod objects;
pub(crate) mod parity;
#[cfg(target_os = "linux")]
mod process_memory;
mod python_worker;
mod read_only_replica;
#[cfg(all(feature = "http", feature = "sqlite"))]
mod streams;
mod tokens;
mod traces;
