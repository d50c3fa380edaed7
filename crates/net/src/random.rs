//! The one source of random numbers that need not be secret.

use std::hash::{BuildHasher as _, RandomState};

use windlass_core::id::RunId;
use windlass_core::time::Time;

/// Creates the id of a run that is submitted now.
pub fn new_run_id(now: Time) -> RunId {
    RunId::new(now.as_millis(), RandomState::new().hash_one(std::process::id()))
}

/// Returns a number that is unlikely to be the same in two processes.
pub fn random_number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Returns a unique word.
pub fn random_hex() -> String {
    let chance = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", chance(), chance())
}
