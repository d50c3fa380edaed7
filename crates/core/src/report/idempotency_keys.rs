//! Idempotency keys: the step that holds each one, the record of the last step, and the steps that wait.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::utc_time::UtcTime;
use super::why::WhyReport;
use crate::engine::state::engine::Engine;
use crate::id::{RunId, StepIx};
use crate::idempotency::{IdempotencyKeyStatus, IdempotencyOrigin};
use crate::json_form::{AsText, AsWord};
use crate::slab::RunIx;
use crate::time::Time;

/// A key and its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKeyReport<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// The status of the key.
    pub status: IdempotencyKeyStatus,
    /// The run of the step that holds the key, or that ran last under it.
    pub run: RunId,
    /// The index of that step in its plan.
    pub step: StepIx,
    /// The name of that step.
    pub name: Cow<'a, str>,
    /// Since when that step holds the key, or when it ended.
    pub at: Time,
    /// The number of steps that wait for the key.
    pub waiting: usize,
}

/// An idempotency key with its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Key"))]
pub struct IdempotencyKeyJson<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// `pending`: a step runs under it. `completed`: a step ran to success. `failed`: the last step did not succeed, and
    /// the next one runs.
    pub status: AsWord<IdempotencyKeyStatus>,
    /// The run of the step that holds the key, or that ran last under it.
    pub run: AsText<RunId>,
    /// The index of that step in its plan.
    pub step: u32,
    /// The name of that step.
    pub name: Cow<'a, str>,
    /// Since when it holds the key, or when it ended.
    pub at: UtcTime,
    /// The number of steps that wait for the key.
    pub waiting: usize,
}

/// The step that ran to success under an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Origin"))]
pub struct IdempotencyOriginJson<'a> {
    /// The id of its run.
    pub run: AsText<RunId>,
    /// The index of the step in its plan.
    pub step: u32,
    /// The name of the step.
    pub name: &'a str,
    /// When it ended.
    pub at: UtcTime,
}

impl<'a> IdempotencyOriginJson<'a> {
    /// Returns the JSON form of an origin.
    pub fn of(origin: &'a IdempotencyOrigin) -> Self {
        let IdempotencyOrigin { run, step, name, at } = origin;
        Self { run: AsText(*run), step: step.0, name, at: UtcTime(*at) }
    }
}

impl<'a> IdempotencyKeyReport<'a> {
    /// Returns the JSON form.
    pub fn json_form(self) -> IdempotencyKeyJson<'a> {
        IdempotencyKeyJson {
            key: self.key,
            status: AsWord(self.status),
            run: AsText(self.run),
            step: self.step.0,
            name: self.name,
            at: UtcTime(self.at),
            waiting: self.waiting,
        }
    }
}

impl Engine {
    /// Returns why a step waits that is in the queue for a key.
    pub(super) fn why_key(&self, run_ix: RunIx, step: StepIx) -> Option<WhyReport> {
        let (key, by) = self.ledger.awaited_key((run_ix, step))?;
        let by = by.unwrap_or((run_ix, step));
        let run = &self.runs[run_ix];
        let fails_at = self.wait_ends(run.step(step).since, run.spec(step).wait_for_lock);
        let (run, name) = (&self.runs[by.0], self.runs[by.0].plan.name(by.1));
        Some(WhyReport::Key { key: (&**key).into(), run: run.id, name: name.into(), fails_at })
    }

    /// Returns every key that a step holds or that has a record, sorted; or only the keys after the given one.
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
