//! A cluster as it is used: `windlass serve`, `windlass worker`, real processes on loopback.

pub(crate) mod arrange;
mod contact;
mod disks;
mod distribution;
mod endings;
mod environment;
#[cfg(target_os = "linux")]
mod hidden;
mod identity;
mod load;
mod loopback;
mod metrics;
mod observers;
pub(crate) mod parity;
#[cfg(feature = "sqlite")]
mod poisoned;
mod strangers;
#[cfg(all(feature = "http", feature = "sqlite"))]
mod streams;
mod talk;
mod tokens;
mod traces;
