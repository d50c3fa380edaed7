//! Which steps the wall time of a run is made of.

use super::run_summary::RunSummary;
use crate::id::StepIx;
use crate::outcome::StepStatus;
use crate::time::{Span, Time};

/// The chain of steps that ended last: each began when the one before it had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The chain, first step first.
    pub links: Vec<CriticalPathLink>,
    /// How long its steps ran.
    pub time: Span,
    /// Of a hundred parts of the time in which the run was led, how many that is; the rest is waiting for workers, locks
    /// and retries.
    pub percent: u64,
}

/// A step of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CriticalPathLink {
    /// Which.
    pub step: StepIx,
    /// How long it was ready and nobody ran it.
    pub wait: Span,
    /// How long it ran.
    pub time: Span,
}

impl RunSummary {
    /// The chain of steps that determined how long the run took; empty if nothing has run.
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

    /// The need that ended last. Of several that ended at once a step that ran says more than one that did not.
    fn last_need(&self, node: StepIx) -> Option<StepIx> {
        let needs = self.plan.needs(node).iter().map(|edge| edge.step());
        needs.max_by_key(|need| {
            let state = self.nodes[need.0 as usize];
            (state.ended_at, state.status == StepStatus::Succeeded)
        })
    }

    /// Joins, and steps that did not run, only hand on the time.
    fn link(&self, node: StepIx) -> Option<CriticalPathLink> {
        let step = self.step(node).filter(|step| step.attempt_count() > 0)?;
        let end = self.ended(Some(node));
        Some(CriticalPathLink { step: node, wait: step.wait(end), time: step.time(end) })
    }

    fn ended(&self, node: Option<StepIx>) -> Time {
        node.map_or(self.submitted_at, |node| self.nodes[node.0 as usize].ended_at)
    }
}
