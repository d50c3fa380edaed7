//! The report of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use windlass_core::id::StepIx;
use windlass_core::large_value::{LargeValueLocation, LargeValueRef};
use windlass_core::outcome::{RunStatus, StepStatus, StepValue};
use windlass_core::step_failure::StepFailure;
use windlass_core::summary::RunSummary;
use windlass_link::output::LocalOutputLink;
use windlass_store::logs::{LogId, LogStore, READ_MAX};
use windlass_worker::values::ValueStore;

use super::cells::Cell;
use super::step::{IntoStep, Matrix, Single};
use super::value::decode;

/// The outcome of a run, with typed results.
#[derive(Clone, Debug)]
pub struct Report {
    summary: RunSummary,
    logs: Arc<dyn LogStore>,
    /// Large results, or the reasons why they cannot be read.
    kept: BTreeMap<StepIx, Result<Arc<str>, String>>,
}

/// The maximum bytes of large results that a report holds. Results beyond it are errors.
const KEPT_MAX: u64 = 256 << 20;

/// The reason why a step has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepError {
    /// The name of the step.
    pub step: String,
    /// The final status; `None` if the step was no part of the run.
    pub status: Option<StepStatus>,
    /// The failure. It does not depend on the machine that ran the step.
    pub failure: Option<Box<StepFailure>>,
    /// The reason why the step was skipped or blocked, or why its result cannot be read.
    pub reason: Option<String>,
}

impl Report {
    pub(crate) async fn new(summary: RunSummary, logs: Arc<dyn LogStore>) -> Self {
        let value_store = ValueStore::new(Arc::new(LocalOutputLink(Arc::clone(&logs))));
        let (mut kept, mut room) = (BTreeMap::new(), KEPT_MAX);
        for step in summary.steps() {
            if let Some(StepValue::Kept(it)) = step.output().map(|output| &output.value) {
                kept.insert(step.ix(), read(&value_store, it, &mut room).await);
            }
        }
        Self { summary, logs, kept }
    }

    /// The final status of the run.
    pub fn status(&self) -> RunStatus {
        self.summary.status()
    }

    /// Whether the run succeeded.
    pub fn succeeded(&self) -> bool {
        self.status() == RunStatus::Succeeded
    }

    /// The result of a step, or the reason why there is none.
    pub fn get<How, S: Single>(
        &self,
        step: impl IntoStep<How, Step = S>,
    ) -> Result<S::Output, StepError> {
        drop(step);
        self.result::<S::Output>(S::NAME)
    }

    /// The cells of a step, in the order of its matrix; none if it is no part of the run.
    pub fn cells<How, S: Matrix>(
        &self,
        step: impl IntoStep<How, Step = S>,
    ) -> Vec<Cell<S::Output>> {
        drop(step);
        let prefix = format!("{}[", S::NAME);
        let cells = self.summary.steps().filter(|step| step.name().starts_with(&prefix));
        cells
            .map(|step| Cell::new(step.name(), step.status(), self.result(step.name()).ok()))
            .collect()
    }

    /// The final status of a step or a cell, by its name; `None` if it is no part of the run.
    pub fn status_of(&self, name: &str) -> Option<StepStatus> {
        Some(self.summary.step(self.find(name)?)?.status())
    }

    /// The log of the last attempt of a step or a cell, at most 1 MiB of it.
    pub async fn log(&self, name: &str) -> String {
        let Some(step) = self.find(name) else { return String::new() };
        let Some(last) = self.summary.step(step).and_then(|step| step.last_delivery()) else {
            return String::new();
        };
        let (run, attempt, delivery) = (self.summary.run(), last.attempt, last.delivery);
        let log = LogId::new(run, step, attempt, delivery);
        let part = self.logs.read(log, 0..READ_MAX as u64).await.unwrap_or_default();
        String::from_utf8_lossy(&part.bytes).into_owned()
    }

    /// The summary of the run: times, workers, attempts.
    pub const fn summary(&self) -> &RunSummary {
        &self.summary
    }

    fn find(&self, name: &str) -> Option<StepIx> {
        self.summary.plan().find(name)
    }

    fn result<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StepError> {
        let mut error =
            StepError { step: name.to_owned(), status: None, failure: None, reason: None };
        let Some(step) = self.find(name).and_then(|step| self.summary.step(step)) else {
            return Err(error);
        };
        error.status = Some(step.status());
        if !matches!(step.status(), StepStatus::Succeeded | StepStatus::Cached) {
            error.failure = step.output().and_then(StepFailure::of_output).map(Box::new);
            error.reason = step.reason();
            return Err(error);
        }
        let outputs = match step.output().map(|output| &output.value) {
            Some(StepValue::Inline(text)) => serde_json::from_str(text).unwrap_or_default(),
            Some(StepValue::Kept(_)) => match &self.kept[&step.ix()] {
                Ok(text) => serde_json::from_str(text).unwrap_or_default(),
                Err(why) => return Err(StepError { reason: Some(why.clone()), ..error }),
            },
            Some(StepValue::None) | None => serde_json::Value::Null,
        };
        decode(&outputs).map_err(|why| StepError { reason: Some(why), ..error })
    }
}

async fn read(
    value_store: &ValueStore,
    kept: &LargeValueRef,
    room: &mut u64,
) -> Result<Arc<str>, String> {
    if let LargeValueLocation::Leader { size, .. } = &kept.location {
        let left = room.checked_sub(*size);
        *room = left.ok_or("a report has no room for all of its large results")?;
    }
    value_store.fetch(kept).await
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.step;
        match self.status {
            None => return write!(f, "`{name}` is no part of the run"),
            Some(StepStatus::Succeeded) => write!(f, "the result of `{name}` cannot be read")?,
            Some(status) => write!(f, "`{name}` has no result: {status}")?,
        }
        let failure = self.failure.as_ref().map(ToString::to_string);
        match failure.as_ref().or(self.reason.as_ref()) {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for StepError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failure.as_deref().map(|failure| failure as _)
    }
}
