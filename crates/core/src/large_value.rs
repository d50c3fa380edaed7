//! Results that are too large for an outcome: their location and their identity.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::id::{RunId, StepIx};

/// A result that is stored outside the outcome of its attempt.
///
/// Its name contains the delivery that produced it, so that two deliveries of one attempt never write to the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeValueRef {
    /// The run of the step that produced it.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The attempt number.
    pub attempt: u16,
    /// The delivery number within that attempt.
    pub delivery: u16,
    /// The location.
    #[serde(rename = "place")]
    pub location: LargeValueLocation,
}

/// The name of a large result, independent of its location: the delivery that produced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeValueId {
    /// The run of the step that produced it.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// Attempt number, from 1.
    pub attempt: u16,
    /// Delivery number within that attempt, from 1.
    pub delivery: u16,
}

/// The location of a large result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LargeValueLocation {
    /// At the leader, beside the output of the attempt.
    Leader {
        /// BLAKE3 hash of the bytes.
        hash: [u8; 32],
        /// Number of bytes.
        size: u64,
    },
    /// In the memory of the worker that produced it, and nowhere else.
    Worker {
        /// The name of the worker.
        name: Box<str>,
    },
}

impl LargeValueRef {
    /// Returns its name.
    pub const fn name(&self) -> LargeValueId {
        let Self { run, step, attempt, delivery, .. } = *self;
        LargeValueId { run, step, attempt, delivery }
    }

    /// Returns the approximate number of bytes of the reference itself.
    pub fn encoded_size(&self) -> usize {
        const NUMBERS: usize = 80;
        NUMBERS
            + match &self.location {
                // Each byte is a number of up to three digits.
                LargeValueLocation::Leader { hash, .. } => 4 * hash.len(),
                LargeValueLocation::Worker { name } => name.len(),
            }
    }

    /// Returns whether the result is lost when the process that produced it ends.
    pub const fn is_in_memory(&self) -> bool {
        matches!(self.location, LargeValueLocation::Worker { .. })
    }

    /// Returns the JSON that readers see in place of the result.
    pub fn to_json(&self) -> Value {
        match &self.location {
            LargeValueLocation::Leader { hash, size } => {
                json!({ "bytes": size, "blake3": blake3::Hash::from_bytes(*hash).to_hex().as_str() })
            }
            LargeValueLocation::Worker { name } => json!({ "kept_on": name }),
        }
    }
}

/// Formats the location for messages.
impl fmt::Display for LargeValueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            LargeValueLocation::Leader { size, .. } => {
                write!(f, "{size} bytes stored at the leader")
            }
            LargeValueLocation::Worker { name } => write!(f, "in the memory of worker {name}"),
        }
    }
}
