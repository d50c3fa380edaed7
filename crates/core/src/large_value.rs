//! Results that are too large to travel with their outcomes: where they are, and how they are known again.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::id::{RunId, StepIx};

/// A result that is kept somewhere else than in the outcome of its attempt.
///
/// It is named by the hand-out that made it, so that two hand-outs of one attempt never write into each other's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeValueRef {
    /// The run whose step made it.
    pub run: RunId,
    /// Which step.
    pub step: StepIx,
    /// Which attempt.
    pub attempt: u16,
    /// Which hand-out of it.
    pub delivery: u16,
    /// Where it is.
    pub place: LargeValueLocation,
}

/// The name of such a result: the hand-out that made it, wherever it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeValueId {
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
pub enum LargeValueLocation {
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

impl LargeValueRef {
    /// Its name.
    pub const fn name(&self) -> LargeValueId {
        let Self { run, step, attempt, delivery, .. } = *self;
        LargeValueId { run, step, attempt, delivery }
    }

    /// Bytes that it takes where it is named, about.
    pub fn encoded_size(&self) -> usize {
        const NUMBERS: usize = 80;
        NUMBERS
            + match &self.place {
                // Each byte is a number of up to three digits.
                LargeValueLocation::Leader { hash, .. } => 4 * hash.len(),
                LargeValueLocation::Worker { name } => name.len(),
            }
    }

    /// Whether it goes with the process that made it.
    pub const fn is_in_memory(&self) -> bool {
        matches!(self.place, LargeValueLocation::Worker { .. })
    }

    /// What readers are shown in place of it.
    pub fn to_json(&self) -> Value {
        match &self.place {
            LargeValueLocation::Leader { hash, size } => {
                json!({ "bytes": size, "blake3": blake3::Hash::from_bytes(*hash).to_hex().as_str() })
            }
            LargeValueLocation::Worker { name } => json!({ "kept_on": name }),
        }
    }
}

/// Where it is, for messages.
impl fmt::Display for LargeValueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            LargeValueLocation::Leader { size, .. } => {
                write!(f, "{size} bytes kept with the leader")
            }
            LargeValueLocation::Worker { name } => write!(f, "kept in the memory of worker {name}"),
        }
    }
}
