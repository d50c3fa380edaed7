//! A worker's state directory: what one life of it leaves to the next.
//!
//! ```text
//!  lock                        held by the process that lives here, with its number
//!  guard                       the mark of the last guard, by which what it left alive is found
//!  guard.lock                  held by the guard and its tethers while anything of this life may be alive
//!  scratch/                    files of steps that run
//!  clusters/HASH/cluster       which cluster the rest is for
//!                secret        who the worker is, for its owner's eyes only
//!                lives         the numbers of its lives, and where their guards held the lock
//!                outcomes      what ended while the leader did not answer
//!                logs/         output that the leader does not have yet
//! ```
//!
//! What belongs to one cluster is never presented to another: each has a folder of its own, and a worker that comes back
//! to a cluster is who it was there.

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
