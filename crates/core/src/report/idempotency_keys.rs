//! Idempotency keys: the step at each, the record of the last one, and the steps that wait.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::utc_time::UtcTime;
use super::why::WhyReport;
use crate::engine::state::engine::Engine;
use crate::id::{RunId, StepIx};
use crate::idempotency::{IdempotencyKeyStatus, IdempotencyOrigin};
use crate::slab::RunIx;
use crate::time::Time;

/// A key and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKeyReport<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// Where it stands.
    pub status: IdempotencyKeyStatus,
    /// The run that is at it, or that did it last.
    pub run: RunId,
    /// Which step of it.
    pub step: StepIx,
    /// That step's name.
    pub name: Cow<'a, str>,
    /// Since when the step is at it, or when it ended.
    pub at: Time,
    /// How many steps wait for it.
    pub waiting: usize,
}

impl IdempotencyKeyReport<'_> {
    /// As an object, for those who list keys.
    pub fn to_json(&self) -> Value {
        json!({
            "key": self.key,
            "status": self.status.word(),
            "run": self.run.to_string(),
            "step": self.step.0,
            "name": self.name,
            "at": UtcTime(self.at).to_string(),
            "waiting": self.waiting,
        })
    }
}

impl Engine {
    /// Why a step waits that stands in line for a key.
    pub(super) fn why_key(&self, run_ix: RunIx, step: StepIx) -> Option<WhyReport> {
        let (key, by) = self.ledger.awaited_key((run_ix, step))?;
        let by = by.unwrap_or((run_ix, step));
        let run = &self.runs[run_ix];
        let fails_at = self.wait_ends(run.step(step).since, run.spec(step).wait_for_lock);
        let (run, name) = (&self.runs[by.0], self.runs[by.0].plan.name(by.1));
        Some(WhyReport::Key { key: (&**key).into(), run: run.id, name: name.into(), fails_at })
    }

    /// Every key that a step is at or that something is on record for, sorted; all of them, or those behind one.
    pub fn key_reports(
        &self,
        behind: Option<&str>,
    ) -> impl Iterator<Item = IdempotencyKeyReport<'_>> {
        self.ledger.entries(behind).filter_map(|entry| {
            let (status, run, step, name, at) = match (entry.holder, entry.record) {
                (Some(((run, step), since)), _) => {
                    let run = &self.runs[run];
                    (IdempotencyKeyStatus::Pending, run.id, step, run.plan.name(step), since)
                }
                (None, Some(record)) => {
                    let done = record.is_success();
                    let status = if done {
                        IdempotencyKeyStatus::Completed
                    } else {
                        IdempotencyKeyStatus::Failed
                    };
                    let IdempotencyOrigin { run, step, name, at } = &record.origin;
                    (status, *run, *step, &**name, *at)
                }
                (None, None) => return None,
            };
            let (key, name) = (Cow::Borrowed(&**entry.key), Cow::Borrowed(name));
            Some(IdempotencyKeyReport { key, status, run, step, name, at, waiting: entry.waiting })
        })
    }
}
