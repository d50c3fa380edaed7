//! The paths that settings read when the plan is made. A new setting that may hold an expression is listed here once: the
//! checker refuses values that are not known by then, and the planner finds the cells that differ.

use super::declaration::{RetryDecl, SpannedPath, SpannedSetting, StepDecl, StepSettings};

impl StepDecl {
    /// The paths that its own keys and settings read when the plan is made.
    pub(crate) fn plan_time_reads(&self) -> impl Iterator<Item = &SpannedPath> {
        let locks = self.locks.iter().flat_map(|lock| &lock.name.reads);
        let per_worker = self.per_worker.iter().flat_map(SpannedSetting::reads);
        locks.chain(per_worker).chain(self.settings.plan_time_reads())
    }
}

impl StepSettings {
    /// The paths that the settings read when the plan is made; each new setting of this kind is listed here.
    pub(crate) fn plan_time_reads(&self) -> impl Iterator<Item = &SpannedPath> {
        let waits = [&self.wait_for_worker, &self.wait_for_lock];
        let spans = [&self.timeout, &self.kill_grace].into_iter().chain(waits);
        let spans = spans.flatten().flat_map(SpannedSetting::reads);
        let priority = self.priority.iter().flat_map(SpannedSetting::reads);
        let retry = self.retry.iter().flat_map(RetryDecl::reads);
        let labels = self.requires.iter().chain(&self.prefers).flatten();
        let nodes = self.nodes.iter().flat_map(|nodes| nodes.allow.iter().chain(&nodes.deny));
        let places = labels.flat_map(SpannedSetting::reads).chain(nodes.flat_map(|it| &it.reads));
        spans.chain(priority).chain(retry).chain(places)
    }
}

impl RetryDecl {
    /// The paths that its templates read.
    fn reads(&self) -> impl Iterator<Item = &SpannedPath> {
        let numbers = self.times.iter().chain(&self.lost).flat_map(SpannedSetting::reads);
        let waits = self.wait.iter().flat_map(SpannedSetting::reads);
        numbers.chain(waits).chain(self.on.iter().flat_map(SpannedSetting::reads))
    }
}
