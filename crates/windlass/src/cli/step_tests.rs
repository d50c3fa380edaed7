//! The results of the tests that steps ran: `reports`.

use std::collections::BTreeMap;

use windlass_core::expand::StepWork;
use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::summary::{RunSummary, StepSummary};
use windlass_core::test_report::TestReport;
use windlass_store::logs::LogId;

/// The test reports of a run, by the log of the delivery that wrote them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepTestReports(BTreeMap<LogId, TestReport>);

impl StepTestReports {
    /// The report that a step wrote in its last try.
    pub(crate) fn of(&self, run: RunId, step: StepSummary<'_>) -> Option<&TestReport> {
        let last = step.last_delivery()?;
        self.0.get(&LogId::new(run, step.ix(), last.attempt, last.delivery))
    }

    /// The name and report of each step that wrote one in its last try, in the order of the plan.
    pub(crate) fn by_step_name(&self, summary: &RunSummary) -> Vec<(String, TestReport)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let report = |step: StepSummary<'_>| {
            Some((step.name().to_owned(), self.of(summary.run(), step)?.clone()))
        };
        summary.steps().filter_map(report).collect()
    }
}

impl FromIterator<(LogId, TestReport)> for StepTestReports {
    fn from_iter<I: IntoIterator<Item = (LogId, TestReport)>>(reports: I) -> Self {
        Self(reports.into_iter().collect())
    }
}

/// Whether a step of a plan writes reports. Nothing is read for other plans.
pub(crate) fn writes_reports(plan: &Plan) -> bool {
    plan.works().iter().any(|work| StepWork::writes_reports(work))
}
