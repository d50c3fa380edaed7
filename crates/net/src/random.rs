//! The one place where chance comes from that need not be a secret.

use std::hash::{BuildHasher as _, RandomState};

use windlass_core::id::RunId;
use windlass_core::time::Time;

/// The id of a run that is submitted now.
pub fn new_run_id(now: Time) -> RunId {
    RunId::new(now.as_millis(), RandomState::new().hash_one(std::process::id()))
}

/// A number that two processes are not likely to draw alike.
pub fn random_number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// A word that nobody else has made.
pub fn random_hex() -> String {
    let chance = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", chance(), chance())
}
