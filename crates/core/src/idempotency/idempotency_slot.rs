//! The record, the holder and the waiters of one idempotency key.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ledger::{IdempotentStep, KEY_AGE};
use super::record::IdempotencyRecord;
use crate::time::Time;

/// The approximate size of a record in bytes, without its texts.
const RECORD_FRAME: usize = 96;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct IdempotencySlot {
    /// The step that holds the key, and since when.
    pub(super) holder: Option<(IdempotentStep, Time)>,
    pub(super) line: VecDeque<IdempotencyWaiter>,
    pub(super) record: Option<IdempotencyRecord>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct IdempotencyWaiter {
    pub(super) place: IdempotentStep,
    /// If true, the step does not reuse a record.
    pub(super) again: bool,
}

impl IdempotencySlot {
    pub(super) fn reusable_record(&self, now: Time) -> Option<&IdempotencyRecord> {
        self.record
            .as_ref()
            .filter(|record| record.is_success() && now.since(record.origin.at) < KEY_AGE)
    }

    /// Returns the step that takes the key next: the first in the queue that cannot reuse the record.
    pub(super) fn next(&self, now: Time) -> Option<IdempotentStep> {
        let done = self.reusable_record(now).is_some();
        let mut line = self.line.iter().filter(|waiter| waiter.again || !done);
        line.next().filter(|_| self.holder.is_none()).map(|waiter| waiter.place)
    }

    pub(super) fn is_unused(&self) -> bool {
        self.holder.is_none() && self.line.is_empty() && self.record.is_none()
    }
}

impl IdempotencySlot {
    pub(super) fn steps(&self) -> usize {
        self.line.len() + usize::from(self.holder.is_some())
    }
}

pub(super) fn size(key: &str, record: Option<&IdempotencyRecord>) -> usize {
    record.map_or(0, |record| {
        key.len() + record.origin.name.len() + record.output.len() + RECORD_FRAME
    })
}
