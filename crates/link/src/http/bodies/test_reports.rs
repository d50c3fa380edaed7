//! Bodies about the test reports of a run.

use serde::{Deserialize, Serialize};
use windlass_core::id::{RunId, StepIx};
use windlass_core::test_report::TestReport;
use windlass_store::logs::LogId;

/// The results of the tests that one delivery of a step ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StepTests"))]
pub struct StepTestsBody {
    /// The index of the step in its plan.
    pub step: u32,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The results of all files that `reports` names.
    #[serde(flatten)]
    pub report: TestReport,
}

impl StepTestsBody {
    /// The report of one delivery.
    pub const fn of(log: LogId, report: TestReport) -> Self {
        Self { step: log.step.0, attempt: log.attempt, delivery: log.delivery, report }
    }

    /// The delivery that wrote the report.
    pub const fn log(&self, run: RunId) -> LogId {
        LogId::new(run, StepIx(self.step), self.attempt, self.delivery)
    }
}
