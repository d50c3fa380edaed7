//! A worker's state directory: what one incarnation leaves to the next.
//!
//! ```text
//!  lock                        held by the process that uses it, with its process id
//!  guard                       the mark of the last guard, by which what it left alive is found
//!  guard.lock                  held by the guard and its tethers while a process of this incarnation may be alive
//!  scratch/                    files of steps that run
//!  clusters/HASH/cluster       the id of the cluster
//!                secret        proves the worker's identity; only its owner may read it
//!                lives         the numbers of its incarnations, and the locks of their guards
//!                outcomes      outcomes that ended while the leader did not answer
//!                logs/         output that the leader does not have yet
//! ```
//!
//! Data of one cluster is never presented to another. Each cluster has a directory of its own, and a worker that
//! returns to a cluster has the same identity there.

mod atomic_file;
mod directory;
mod guard_lock;
mod incarnations;
mod membership;
#[cfg(test)]
mod tests;

pub use directory::{StateDirectory, StateDirectoryError};
pub use guard_lock::{GuardLock, GuardLockIdentity};
pub use incarnations::WorkerIncarnations;
pub use membership::ClusterMembership;
