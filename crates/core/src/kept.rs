//! Results that are too large to travel with their outcomes: where they are, and how they are known again.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::id::{RunId, StepIx};

/// A result that is kept somewhere else than in the outcome of its attempt.
///
/// It is named by the hand-out that made it, so that two hand-outs of one attempt never write into each other's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The run whose step made it.
    pub run: RunId,
    /// Which step.
    pub step: StepIx,
    /// Which attempt.
    pub attempt: u16,
    /// Which hand-out of it.
    pub delivery: u16,
    /// Where it is.
    pub place: KeptAt,
}

/// The name of such a result: the hand-out that made it, wherever it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptName {
    /// The run whose step made it.
    pub run: RunId,
    /// Which step.
    pub step: StepIx,
    /// Attempt number, from 1.
    pub attempt: u16,
    /// Delivery number within that attempt, from 1.
    pub delivery: u16,
}

/// Where a result is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptAt {
    /// With the leader, beside what the attempt printed.
    Leader {
        /// BLAKE3 of its bytes.
        hash: [u8; 32],
        /// How many there are.
        size: u64,
    },
    /// In the memory of the worker that made it, and nowhere else.
    Worker {
        /// The worker's name.
        name: Box<str>,
    },
}

impl Kept {
    /// Its name.
    pub const fn name(&self) -> KeptName {
        let Self { run, step, attempt, delivery, .. } = *self;
        KeptName { run, step, attempt, delivery }
    }

    /// Bytes that it takes where it is named, about.
    pub fn weight(&self) -> usize {
        const NUMBERS: usize = 80;
        NUMBERS
            + match &self.place {
                // Each byte is a number of up to three digits.
                KeptAt::Leader { hash, .. } => 4 * hash.len(),
                KeptAt::Worker { name } => name.len(),
            }
    }

    /// Whether it goes with the process that made it.
    pub const fn is_in_memory(&self) -> bool {
        matches!(self.place, KeptAt::Worker { .. })
    }

    /// What readers are shown in place of it.
    pub fn to_json(&self) -> Value {
        match &self.place {
            KeptAt::Leader { hash, size } => {
                json!({ "bytes": size, "blake3": blake3::Hash::from_bytes(*hash).to_hex().as_str() })
            }
            KeptAt::Worker { name } => json!({ "kept_on": name }),
        }
    }
}

/// Where it is, for messages.
impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            KeptAt::Leader { size, .. } => write!(f, "{size} bytes kept with the leader"),
            KeptAt::Worker { name } => write!(f, "kept in the memory of worker {name}"),
        }
    }
}
