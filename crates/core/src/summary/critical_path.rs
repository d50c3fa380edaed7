//! The critical path of a run.

use super::run_summary::RunSummary;
use crate::id::StepIx;
use crate::outcome::StepStatus;
use crate::time::{Span, Time};

/// The chain of steps that determined the duration of a run: each step began after the previous one had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The steps in order.
    pub links: Vec<CriticalPathLink>,
    /// The total running time of its steps.
    pub time: Span,
    /// The running time as a percentage of the time with a leader. The rest is waiting for workers, locks and retries.
    pub percent: u64,
}

/// A step of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CriticalPathLink {
    /// The step.
    pub step: StepIx,
    /// How long it was ready but not running.
    pub wait: Span,
    /// How long it ran.
    pub time: Span,
}

impl RunSummary {
    /// Returns the critical path; empty if no step has run.
    pub fn critical_path(&self) -> CriticalPath {
        let mut chain = Vec::new();
        let mut next = self.last_ended();
        while let Some(node) = next {
            chain.extend(self.link(node));
            next = self.last_need(node);
        }
        chain.reverse();
        let time = chain.iter().fold(Span::ZERO, |sum, link| sum + link.time);
        let worked = self.led_time(self.ended(self.last_ended())).as_millis();
        let percent = (time.as_millis() * 100).checked_div(worked).unwrap_or(0).min(100);
        CriticalPath { links: chain, time, percent }
    }

    fn last_ended(&self) -> Option<StepIx> {
        let ran =
            self.steps().filter(|step| step.status().is_terminal() && step.attempt_count() > 0);
        ran.max_by_key(super::step_summary::StepSummary::ended_at).map(|step| step.ix())
    }

    /// Returns the need that ended last. Of several, a step that ran is preferred.
    fn last_need(&self, node: StepIx) -> Option<StepIx> {
        let needs = self.plan.needs(node).iter().map(|edge| edge.step());
        needs.max_by_key(|need| {
            let state = self.nodes[need.0 as usize];
            (state.ended_at, state.status == StepStatus::Succeeded)
        })
    }

    /// Joins and steps that did not run are not part of the chain.
    fn link(&self, node: StepIx) -> Option<CriticalPathLink> {
        let step = self.step(node).filter(|step| step.attempt_count() > 0)?;
        let end = self.ended(Some(node));
        Some(CriticalPathLink { step: node, wait: step.wait(end), time: step.time(end) })
    }

    fn ended(&self, node: Option<StepIx>) -> Time {
        node.map_or(self.submitted_at, |node| self.nodes[node.0 as usize].ended_at)
    }
}
